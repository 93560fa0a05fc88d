/** The request path, in the order in which a request walks it. */
import { createServer, type Server as NodeServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer, Option, Redacted } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder, HttpApiScalar } from "effect/http-api"
import { Keys } from "./access/Keys.ts"
import { Quota } from "./access/Quota.ts"
import { RateLimit } from "./access/RateLimit.ts"
import { layerFile, layerMemory } from "./access/sqliteStore.ts"
import { UsageLog } from "./access/UsageLog.ts"
import { Api } from "./api/Api.ts"
import { CatalogStore } from "./model/CatalogStore.ts"
import { Providers } from "./provider/Providers.ts"
import { Upstream } from "./provider/Upstream.ts"
import { activeClouds, type CloudSettings, Clouds, type GatewaySettings, Settings } from "./Settings.ts"
import { apiKeyLayer } from "./surface/apiKey.ts"
import { chatLayer } from "./surface/chat.ts"
import { Drain } from "./surface/Drain.ts"
import { embeddingsLayer } from "./surface/embeddings.ts"
import { frontDoor } from "./surface/frontDoor.ts"
import { Gate } from "./surface/Gate.ts"
import { messagesLayer } from "./surface/messages.ts"
import { responsesLayer } from "./surface/responses.ts"
import { healthLayer, modelsLayer } from "./surface/system.ts"

/** The endpoints, and the documents about them where they are public. */
const routes = (docs: boolean) =>
  Layer.mergeAll(
    HttpApiBuilder.layer(Api, docs ? { openapiPath: "/openapi.json" } : {}).pipe(
      Layer.provide([chatLayer, messagesLayer, responsesLayer, embeddingsLayer, modelsLayer, healthLayer]),
      Layer.provide(apiKeyLayer)
    ),
    docs ? HttpApiScalar.layer(Api, { path: "/docs" }) : Layer.empty,
    frontDoor
  )

/** What the surfaces ask for. */
const services = Layer.mergeAll(Gate.layer, Providers.layer).pipe(Layer.provide(Upstream.live))

/**
 * Node's defaults, reviewed: headers within `GATEWAY_HEADERS_TIMEOUT`; a whole request within that and the body's
 * time, for bodies that no handler reads; idle connections kept for 65 s, longer than load balancers keep theirs; at
 * most 32 KiB and 200 headers. The check runs every second, so that the limits mean what they say.
 */
const nodeServer = (settings: GatewaySettings): NodeServer => {
  const headersTimeout = Duration.toMillis(settings.headersTimeout)
  const server = createServer({
    headersTimeout,
    requestTimeout: headersTimeout + Duration.toMillis(settings.bodyTimeout) + 5_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 32 * 1024,
    connectionsCheckingInterval: 1_000,
    noDelay: true
  })
  server.maxHeadersCount = 200
  server.on("clientError", refuseUnparsed)
  return server
}

const unparsed: Readonly<Record<string, readonly [status: string, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "the request took too long"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "the request's headers are too large"]
}

/** A request that Node could not read has no path; it gets the general shape. */
const refuseUnparsed = (error: NodeJS.ErrnoException, socket: NodeJS.WritableStream & { destroyed?: boolean }) => {
  if (socket.destroyed === true || !socket.writable || error.code === "ECONNRESET") return
  const [status, message] = unparsed[error.code ?? ""] ?? ["400 Bad Request", "the request is not valid HTTP"]
  const body = JSON.stringify({ error: { type: "invalid_request_error", message } })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${crypto.randomUUID()}\r\nlink: </>; rel="terms-of-service"\r\nconnection: close\r\n\r\n${body}`
  )
}

/** What a gateway is made from. */
export interface GatewayOptions {
  readonly settings: GatewaySettings
  readonly clouds: CloudSettings
  /** Whether `/`, `/docs` and `/openapi.json` are served. */
  readonly docs: boolean
  /** Whether the sandbox's key works, and no other. */
  readonly sandbox: boolean
}

/** Quotas and limits: shared in Redis, or in a file that processes on one machine share; in memory in the sandbox. */
const store = ({ settings, sandbox }: GatewayOptions) =>
  Option.match(settings.redisUrl, {
    onSome: (url) =>
      Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("./access/redisStore.ts")),
          ({ layerRedis }) => layerRedis(Redacted.value(url))
        )
      ),
    onNone: () => (sandbox && settings.workers === 1 ? layerMemory : layerFile(settings.stateDir))
  })

const access = (options: GatewayOptions) => {
  const { settings, sandbox } = options
  const lease = Duration.sum(settings.streamCeiling, Duration.minutes(1))
  return Layer.mergeAll(
    sandbox ? Keys.sandbox : Keys.layer({ file: settings.keysFile }),
    UsageLog.layer({ file: settings.usageLog === "stdout" ? undefined : settings.usageLog }),
    Layer.mergeAll(RateLimit.layer({ streamCeiling: settings.streamCeiling }), Quota.layer({ lease })).pipe(
      Layer.provide(store(options))
    )
  )
}

/** Serves until its scope closes. */
export const gatewayLayer = (options: GatewayOptions) => {
  const { settings, clouds } = options
  return HttpRouter.serve(routes(options.docs), { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(services),
    Layer.provideMerge(
      NodeHttpServer.layer(() => nodeServer(settings), {
        host: settings.host,
        port: settings.port,
        // Streams are ended in-band when their time is over; this is for those that then do not end.
        gracefulShutdownTimeout: Duration.sum(settings.drainTimeout, Duration.seconds(2))
      })
    ),
    Layer.provide(access(options)),
    Layer.provideMerge(CatalogStore.layer({ file: settings.catalogFile, active: activeClouds(clouds) })),
    Layer.provideMerge(Drain.layer),
    Layer.provide(Layer.succeed(Settings, settings)),
    Layer.provide(Layer.succeed(Clouds, clouds))
  )
}
