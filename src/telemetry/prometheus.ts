/** Prometheus metrics on a port of their own (`GATEWAY_METRICS_PORT`), away from callers. */

import { Data, Effect, Layer } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { createServer } from "../nodeHttp.ts"
import { prometheusName } from "./metrics.ts"

/** The metrics port cannot be listened on. */
export class MetricsPortError extends Data.TaggedError("MetricsPortError")<{ readonly message: string }> {}

/**
 * `GET /metrics` in Prometheus' text format, until the scope closes. Port 0 picks a free one; the log names it.
 *
 * A server of Node's, not Effect's `PrometheusMetrics.layerHttp`: the layer of the `HttpRouter` is shared, so that this port would
 * serve the gateway's routes, too.
 */
export const prometheusLayer = (options: {
  readonly host: string
  readonly port: number
}): Layer.Layer<never, MetricsPortError> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      const server = createServer((request, response) => {
        request.resume()
        const found = request.url === "/metrics" && (request.method === "GET" || request.method === "HEAD")
        response.writeHead(found ? 200 : 404, { "content-type": "text/plain; version=0.0.4; charset=utf-8" })
        response.end(
          found ? PrometheusMetrics.formatUnsafe(context, { metricNameMapper: prometheusName }) : "not found\n"
        )
      })
      yield* Effect.acquireRelease(
        Effect.callback<void, MetricsPortError>((resume) => {
          server.once("error", ({ message }) =>
            resume(Effect.fail(new MetricsPortError({ message: `GATEWAY_METRICS_PORT cannot be used: ${message}` })))
          )
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
      yield* Effect.logInfo(`metrics on http://${options.host}:${port}/metrics`)
    })
  )
