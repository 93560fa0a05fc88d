/**
 * A yardstick: the smallest HttpApi server that sends a request on through undici, whole replies and streams. What lies between the
 * bare proxy and this is the price of the platform; what lies between this and the gateway is what the gateway does.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Agent, type Dispatcher } from "@effect/platform-node/Undici"
import { type Array as Arr, Cause, Effect, Layer, Schema, Stream } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"

const origin = `http://127.0.0.1:${process.argv[2]}`
const agent = new Agent({ connections: 1024, pipelining: 1 })

class Api extends HttpApi.make("proxy").add(
  HttpApiGroup.make("all").add(HttpApiEndpoint.post("any", "/*", { payload: Schema.Json, success: Schema.Json }))
) {}

const read = (request: ReturnType<typeof NodeHttpServerRequest.toIncomingMessage>) =>
  Effect.callback<Buffer>((resume) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => resume(Effect.succeed(Buffer.concat(chunks))))
  })

type Chunks = Arr.NonEmptyReadonlyArray<Uint8Array>

/** What undici pushes, for a stream that pulls: whoever comes first waits for the other. */
class Chunked {
  readonly #controller: Dispatcher.DispatchController
  #waiting: Array<Uint8Array> = []
  #end: Effect.Effect<never, Error | Cause.Done> | undefined
  #reader: ((chunks: Effect.Effect<Chunks, Error | Cause.Done>) => void) | undefined

  constructor(controller: Dispatcher.DispatchController) {
    this.#controller = controller
  }

  readonly pull = Effect.callback<Chunks, Error | Cause.Done>((resume) => {
    this.#reader = resume
    this.#meet()
    return Effect.sync(() => this.#controller.abort(new Error("the caller has left")))
  })

  push(chunk: Uint8Array) {
    this.#waiting.push(chunk)
    this.#meet()
    if (this.#waiting.length > 16) this.#controller.pause()
  }

  end(error?: Error) {
    this.#end = error === undefined ? Cause.done() : Effect.fail(error)
    this.#meet()
  }

  #meet() {
    const [first, ...rest] = this.#waiting
    const next = first === undefined ? this.#end : Effect.succeed<Chunks>([first, ...rest])
    const reader = this.#reader
    if (reader === undefined || next === undefined) return
    this.#reader = undefined
    this.#waiting = []
    if (this.#controller.paused) this.#controller.resume()
    reader(next)
  }
}

/** Answers a stream as soon as its head is here, anything else when it is whole. */
const send = (path: string, body: Buffer) =>
  Effect.callback<HttpServerResponse.HttpServerResponse, Error>((resume) => {
    const whole: Array<Uint8Array> = []
    let status = 0
    let contentType = ""
    let stream: Chunked | undefined
    agent.dispatch(
      { origin, path, method: "POST", headers: { "content-type": "application/json" }, body },
      {
        onRequestStart() {},
        onResponseStart(controller, code, headers) {
          status = code
          contentType = String(headers["content-type"])
          if (contentType.startsWith("application/json")) return
          stream = new Chunked(controller)
          const chunks = Stream.fromPull(Effect.succeed(stream.pull))
          resume(Effect.succeed(HttpServerResponse.stream(chunks, { contentType, status })))
        },
        onResponseData(_controller, chunk) {
          if (stream === undefined) whole.push(chunk)
          else stream.push(chunk)
        },
        onResponseEnd() {
          if (stream !== undefined) stream.end()
          else resume(Effect.succeed(HttpServerResponse.uint8Array(Buffer.concat(whole), { contentType, status })))
        },
        onResponseError(_controller, error) {
          if (stream !== undefined) stream.end(error)
          else resume(Effect.fail(error))
        }
      }
    )
  })

const handlers = HttpApiBuilder.group(Api, "all", (handlers) =>
  Effect.succeed(
    handlers.handleRaw("any", ({ request }) =>
      read(NodeHttpServerRequest.toIncomingMessage(request)).pipe(
        Effect.flatMap((body) => send(request.url, body)),
        Effect.orDie
      )
    )
  )
)

const server = createServer({ keepAliveTimeout: 600_000 })
server.on("listening", () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on("disconnect", () => process.exit(0))

HttpRouter.toHttpEffect(HttpApiBuilder.layer(Api).pipe(Layer.provide(handlers))).pipe(
  Effect.map((app) => HttpServer.serve(app)),
  Layer.unwrap,
  Layer.provide(NodeHttpServer.layerServer(() => server, { port: 0, host: "127.0.0.1" })),
  Layer.provide(NodeHttpServer.layerHttpServices),
  Layer.launch,
  Effect.runFork
)
