/** The reply of a cloud as Effect's `HttpClientResponse`: its head has come, undici pushes its body, and one reader pulls it. */
import type Undici from "@effect/platform-node/Undici"
import { Array as Arr, Cause, Effect, Exit, Inspectable, Latch, Option, Pipeable, type Pull, Stream } from "effect"
import { Cookies, HttpClientError, HttpClientResponse, HttpIncomingMessage, UrlParams } from "effect/http"
import { GatewayError, noRoom } from "../catalog/GatewayError.ts"
import { heldPerValue } from "../wire/parse.ts"
import { smallBytes } from "../wire/slices.ts"

/** What a call may use, and the callbacks that record what it does. */
export interface CallContext {
  /** When the call fails if its reply has not ended, in milliseconds of `performance.now()`. */
  readonly deadline?: number | undefined
  /** The first byte of the request is about to be sent. */
  readonly sent: () => void
  /** Takes memory for bytes of a whole reply; false where there is none left. */
  readonly takeMemory: (bytes: number) => boolean
  /** So many bytes have come of a whole reply that began as a success. */
  readonly received: (bytes: number) => void
}

/** Largest whole reply, and largest error reply, in bytes. */
const maxReplyBytes = 32 * 1024 * 1024
const maxErrorBytes = 64 * 1024
/** Bytes that wait for a reader before the cloud has to. */
const maxWaiting = 16 * 1024
/** How long a reply that is not read to its end may take to end, in milliseconds. */
const drainMillis = 1_000

export const abandoned = new GatewayError({ reason: "upstream", message: "the call was given up", code: "cancelled" })
const tooLarge = new GatewayError({
  reason: "upstream",
  message: "the cloud that serves this model sent a reply that is too large",
  code: "too-large"
})

/** How many values a piece of JSON has, about: as many as commas and colons, also those in texts. */
const valuesIn = (bytes: Uint8Array): number => {
  let count = 0
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x2c || bytes[at] === 0x3a) count++
  return count
}

const none = new Uint8Array(0)

type Failure = HttpClientError.HttpClientError

/** Read once, as a stream or whole. */
export class Response extends Inspectable.Class implements HttpClientResponse.HttpClientResponse {
  readonly [HttpIncomingMessage.TypeId]: typeof HttpIncomingMessage.TypeId = HttpIncomingMessage.TypeId
  readonly [HttpClientResponse.TypeId]: typeof HttpClientResponse.TypeId = HttpClientResponse.TypeId
  readonly status: number
  readonly headers: HttpClientResponse.HttpClientResponse["headers"]
  readonly request: HttpClientResponse.HttpClientResponse["request"]
  readonly pipe = Pipeable.Prototype.pipe
  readonly cookies = Cookies.empty
  readonly remoteAddress = Option.none<string>()
  private readonly controller: Undici.Dispatcher.DispatchController
  private readonly call: Pick<CallContext, "received" | "takeMemory">
  /** Of a body that is read as a stream. */
  private chunks: Array<Uint8Array> = []
  /** Of one that is read whole: so far `size` bytes of it. */
  private body = none
  private size = 0
  /** Largest body in bytes; set when it is read whole. */
  private limit: number | undefined
  private ended: Exit.Exit<void, Failure> | undefined
  private discarding: NodeJS.Timeout | undefined
  /** Closed while the reader waits. */
  private readonly ready = Latch.makeUnsafe(true)

  /** `request`: without its body, which would live as long as the reply. */
  constructor(
    { headers, request, status }: Pick<HttpClientResponse.HttpClientResponse, "headers" | "request" | "status">,
    controller: Undici.Dispatcher.DispatchController,
    call: Pick<CallContext, "received" | "takeMemory">
  ) {
    super()
    this.status = status
    this.headers = headers
    this.request = request
    this.controller = controller
    this.call = call
  }

  push(chunk: Uint8Array): void {
    if (this.ended !== undefined || this.discarding !== undefined) return
    const before = this.size
    this.size += chunk.length
    if (this.limit !== undefined) {
      this.append(chunk, before)
      this.countBytes(chunk.length, this.size > smallBytes ? valuesIn(chunk) : 0)
    } else {
      this.chunks.push(chunk)
      if (this.size > maxWaiting && this.ready.isOpen()) this.controller.pause()
      if (this.chunks.length === 1) this.notify()
    }
  }

  end(failure?: unknown): void {
    clearTimeout(this.discarding)
    this.ended ??= failure === undefined ? Exit.void : Exit.fail(this.failed(failure))
    this.notify()
  }

  /** Nothing more of it is read. */
  close(exit: Exit.Exit<unknown, unknown>): void {
    if (this.ended !== undefined || this.discarding !== undefined) return
    this.chunks = []
    if (Exit.isFailure(exit)) this.destroy(abandoned)
    else {
      this.discarding = setTimeout(() => this.destroy(abandoned), drainMillis)
      this.controller.resume()
    }
  }

  /** Arrays of what one read of the socket brought. */
  get stream() {
    return Stream.fromPull(Effect.succeed(this.pull))
  }

  /** At most 32 MiB of a success, and 64 KiB of anything else. The scope of the call may live on where its reader is interrupted. */
  get arrayBuffer() {
    return Effect.suspend(() => {
      this.limit = this.status === 200 ? maxReplyBytes : maxErrorBytes
      let at = 0
      for (const chunk of this.chunks) {
        this.append(chunk, at)
        at += chunk.length
      }
      this.chunks = []
      this.countBytes(this.size)
      this.controller.resume()
      return Effect.onInterrupt(this.whole, () => Effect.sync(() => this.destroy(abandoned)))
    })
  }

  get text() {
    return Effect.map(this.arrayBuffer, (bytes) => new TextDecoder().decode(bytes))
  }
  get json() {
    return Effect.flatMap(this.text, (text) => Effect.try({ try: () => JSON.parse(text), catch: this.failed }))
  }
  get urlParamsBody() {
    return Effect.map(this.text, (text) => UrlParams.fromInput(new URLSearchParams(text)))
  }
  get formData() {
    return Effect.fail(this.failed("forms are not read"))
  }
  get upgrade() {
    return Effect.fail(this.failed("connections are not upgraded"))
  }
  get url() {
    return this.request.url
  }
  toJSON() {
    return HttpIncomingMessage.inspect(this, { _id: "HttpClientResponse", status: this.status })
  }

  private readonly pull: Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, Failure> = Effect.suspend(() => {
    const { chunks } = this
    if (Arr.isArrayNonEmpty(chunks)) {
      this.chunks = []
      this.size = 0
      if (this.ended === undefined) this.controller.resume()
      return Effect.succeed(chunks)
    }
    return this.ended === undefined ? this.waitFor(this.pull) : Effect.andThen(this.ended, Cause.done())
  })

  private readonly whole: Effect.Effect<ArrayBuffer, Failure> = Effect.suspend(() => {
    if (this.ended === undefined) return this.waitFor(this.whole)
    const { body, size } = this
    this.body = none
    return Effect.map(this.ended, () => body.slice(0, size).buffer)
  })

  /** Adds to a body that is read whole. Pieces are not kept: each takes hundreds of bytes, and there may be one for each byte. */
  private append(chunk: Uint8Array, at: number): void {
    const end = at + chunk.length
    if (end > this.body.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.body.length))
      larger.set(this.body)
      this.body = larger
    }
    this.body.set(chunk, at)
  }

  /** From now on, so that nothing that comes before the fiber waits is missed. */
  private waitFor<A, E>(next: Effect.Effect<A, E>): Effect.Effect<A, E> {
    this.ready.closeUnsafe()
    return Effect.andThen(this.ready.await, next)
  }

  /** Notifies the reader once undici has parsed one read of the socket. */
  private notify(): void {
    queueMicrotask(() => this.ready.openUnsafe())
  }

  /** Counts more bytes of a body that is read whole, and takes memory for them and for the values that they become. */
  private countBytes(bytes: number, values = 0): void {
    if (this.status === 200) this.call.received(bytes)
    if (this.limit !== undefined && this.size > this.limit) this.destroy(tooLarge)
    else if (bytes > 0 && !this.call.takeMemory(bytes + heldPerValue * values)) this.destroy(noRoom)
  }

  private destroy(error: GatewayError): void {
    if (this.ended !== undefined) return
    this.chunks = []
    this.body = none
    this.end(error)
    this.controller.abort(error)
  }

  private readonly failed = (cause: unknown): Failure =>
    new HttpClientError.HttpClientError({
      reason: new HttpClientError.DecodeError({ request: this.request, response: this, cause })
    })
}
