/**
 * The least that an Effect service can do between a caller and a cloud: an endpoint of an HttpApi whose schema takes any object, and
 * Effect's client over undici. Streams pass as bytes.
 */
import { createServer } from "node:http"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Schema } from "effect"
import {
  HttpClient,
  HttpClientRequest,
  HttpRouter,
  HttpServer,
  HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"

const cloud = `http://127.0.0.1:${process.argv[2]}`
const Json = Schema.Record(Schema.String, Schema.Unknown)

const Forward = HttpApiGroup.make("forward").add(
  HttpApiEndpoint.post("call", "/*", { payload: Json, success: Schema.Unknown })
)
const Api = HttpApi.make("empty").add(Forward)

const forward = HttpApiBuilder.group(Api, "forward", (handlers) =>
  handlers.handle("call", ({ payload }) =>
    Effect.gen(function* () {
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const request = HttpClientRequest.post(`${cloud}${url}`).pipe(HttpClientRequest.bodyJsonUnsafe(payload))
      const reply = yield* HttpClient.execute(request)
      const contentType = reply.headers["content-type"]
      return payload.stream === true
        ? HttpServerResponse.stream(reply.stream, { contentType })
        : HttpServerResponse.jsonUnsafe(yield* reply.json)
    }).pipe(Effect.orDie)
  )
)

const server = createServer({ noDelay: true, keepAliveTimeout: 600_000 })
const listening = Layer.effectDiscard(
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    process.send?.(address._tag === "UnixPathAddress" ? {} : { port: address.port })
  })
)

process.on("disconnect", () => process.exit(0))
HttpRouter.serve(HttpApiBuilder.layer(Api).pipe(Layer.provide(forward)), {
  disableLogger: true,
  disableListenLog: true
}).pipe(
  Layer.merge(listening),
  Layer.provide(NodeHttpServer.layer(() => server, { port: 0, host: "127.0.0.1" })),
  Layer.provide(NodeHttpClient.layerUndici),
  Layer.launch,
  NodeRuntime.runMain
)
