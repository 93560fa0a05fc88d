/** Prometheus metrics on a port of their own (`GATEWAY_METRICS_PORT`), away from callers. Other pages may be added there. */
import type { RequestListener } from "node:http"
import { Context, Effect, Layer, type Scope } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { listenError } from "../listenError.ts"
import { createServer } from "../nodeHttp.ts"
import { inAddress, isLoopback } from "../settings/fields.ts"
import { guardSockets } from "../sockets.ts"
import type { OperatorError } from "../wire/OperatorError.ts"
import { prometheusName } from "./metrics.ts"

export class MetricsPort extends Context.Service<
  MetricsPort,
  {
    /** Answers `GET` (and `HEAD`) of a path until the scope closes. */
    readonly serve: (path: string, handler: RequestListener) => Effect.Effect<void, never, Scope.Scope>
  }
>()("gateway/telemetry/MetricsPort") {}

/**
 * `GET /metrics` in Prometheus' text format, until the scope closes. Port 0 picks a free one; the log names it.
 *
 * A server of Node's, not Effect's `PrometheusMetrics.layerHttp`: the layer of the `HttpRouter` is shared, so that this port
 * would serve the gateway's routes, too.
 */
export const prometheusLayer = (options: { readonly host: string; readonly port: number }) =>
  Layer.effect(
    MetricsPort,
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      const metrics: RequestListener = (_, response) => {
        const text = PrometheusMetrics.formatUnsafe(context, { metricNameMapper: prometheusName })
        response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text)
      }
      const handlers = new Map<string, RequestListener>([["/metrics", metrics]])
      const answer: RequestListener = (request, response) => {
        // One of too many that a connection sent together (`sockets.ts`).
        if (response.destroyed) return
        request.resume()
        const { headers, method, url = "" } = request
        const path = url.split("?", 1)[0] ?? ""
        const handler = handlers.get(path)
        const named = headers.host?.replace(/:\d+$/, "") ?? options.host
        const refuse = (status: number, text: string, more = {}) => {
          response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...more }).end(`${text}\n`)
        }
        if (handler === undefined) return refuse(404, "not found")
        if (method !== "GET" && method !== "HEAD") return refuse(405, "only GET", { allow: "GET, HEAD" })
        // On loopback a web page must not reach it under a name of its own (DNS rebinding). Metrics may be asked for under any name: a
        // container may know this machine by another.
        if (path !== "/metrics" && isLoopback(options.host) && !isLoopback(named)) {
          return refuse(421, "ask by a name of loopback, such as localhost, or set GATEWAY_METRICS_HOST")
        }
        handler(request, response)
      }
      const server = createServer()
      guardSockets(server, "connection")
      server.on("request", answer).on("checkContinue", answer)
      yield* Effect.acquireRelease(
        Effect.callback<void, OperatorError>((resume) => {
          server.once("error", (error) => resume(Effect.fail(listenError("GATEWAY_METRICS_PORT", options, error))))
          server.listen(options.port, options.host, () => resume(Effect.void))
        }),
        () =>
          Effect.sync(() => {
            server.close()
            server.closeAllConnections()
          })
      )
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : options.port
      const url = `http://${inAddress(options.host)}:${port}/`
      yield* Effect.logInfo(`metrics on ${url}metrics, status on ${url}`)
      return MetricsPort.of({
        serve: (path, handler) =>
          Effect.acquireRelease(
            Effect.sync(() => void handlers.set(path, handler)),
            () => Effect.sync(() => handlers.delete(path))
          )
      })
    })
  )
