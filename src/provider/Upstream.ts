/**
 * The one place where a call leaves the process: span, breaker, connect and header deadlines, retry of connections that
 * failed before anything was sent, renewed credentials, cancellation with the caller, bounded replies. What is said and to whom
 * is the provider's business.
 */
import { isUtf8 } from "node:buffer"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Cause, Context, Effect, Exit, Layer, Option, Pull, type Scope, type Tracer } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { GatewayError } from "../model/GatewayError.ts"
import { type CallSpan, type CallSpanOptions, makeCallSpans } from "../telemetry/callSpan.ts"
import type { Decoder } from "../wire/Event.ts"
import type { JsonObject } from "../wire/json.ts"
import { type Attempt, type Choice, makeAttempts, type Sender, type Wire } from "./attempts.ts"
import { makeBreaker } from "./breaker.ts"
import { responseNames } from "./callAttributes.ts"
import { connections } from "./connections.ts"
import { Decoding } from "./decoding.ts"
import { dispatchOpen, dispatchWhole, type Head, type OpenReply, type WholeReply } from "./dispatch.ts"
import { faultError, malformed, type Scrub, statusFault } from "./fault.ts"
import { isLargeReply, readLargeReply, readReplyObject } from "./largeReply.ts"
import type { Outgoing } from "./Outgoing.ts"
import type { Reply, Streamed } from "./Provider.ts"
import type { ReplyHeaders } from "./replyHeaders.ts"
import type { Stopper } from "./Stopper.ts"

/** Largest JSON reply that is read, in bytes. */
const maxReplyBytes = 32 * 1024 * 1024
/** Longest error reply that is read, in bytes; a longer one is thrown away with its connection. */
const maxErrorBytes = 64 * 1024
const limitOf = (status: number): number => (status === 200 ? maxReplyBytes : maxErrorBytes)

/** One call, with all that a provider knows of it. */
export interface Call extends Choice {
  readonly body: Outgoing
  /** What the reply must say it is, lower case. */
  readonly contentType: string
  readonly scrub: Scrub
  /** Whether the reply is a vector, whose numbers need not be as they were written. */
  readonly vectors?: boolean
  readonly span: CallSpanOptions
  readonly parent: Tracer.AnySpan | undefined
  readonly stopper: Stopper
}

export class Upstream extends Context.Service<
  Upstream,
  {
    /** Makes a call and waits for its whole reply, which must be a JSON object. */
    readonly send: (call: Call) => Effect.Effect<Reply, GatewayError>
    /** Opens a call whose reply is a stream of events; the scope ends it. */
    readonly stream: (call: Call, makeDecoder: () => Decoder) => Effect.Effect<Streamed, GatewayError, Scope.Scope>
  }
>()("gateway/provider/Upstream") {
  static readonly layer = Layer.effect(
    Upstream,
    Effect.gen(function* () {
      const dispatcher = yield* NodeHttpClient.Dispatcher
      const guarded = yield* makeBreaker
      const openSpan = yield* makeCallSpans

      /** Deadlines are ours; trace headers are not sent to clouds. */
      const optionsOf = ({ target, headers }: Wire, { body, length }: ReturnType<Outgoing["forWire"]>) => ({
        origin: target.origin,
        path: target.path,
        method: "POST" as const,
        headers: {
          "content-type": "application/json",
          ...headers,
          ...(length === undefined ? undefined : { "content-length": length })
        },
        // undici takes any iterable of bytes, which its types do not say.
        body: body as string,
        headersTimeout: 0,
        bodyTimeout: 0
      })

      /** The call with its body printed. */
      const printed = <A, E>({ body: { printing } }: Call, then: () => Effect.Effect<A, E>): Effect.Effect<A, E> =>
        printing === undefined ? then() : Effect.flatMap(printing, then)

      const attempt = makeAttempts()
      const sender = <A extends Head>(
        dispatch: (wire: Wire) => Effect.Effect<A, GatewayError>,
        discard: (reply: A) => Effect.Effect<unknown>
      ): Sender<A> => ({
        send: (wire) => guarded(wire.target.circuit, dispatch(wire)),
        discard
      })
      const whole = (call: Call) => {
        const { body, stopper } = call
        const dispatch = (wire: Wire) =>
          dispatchWhole(dispatcher, optionsOf(wire, body.forWire(false)), stopper, limitOf, call.asked)
        return printed(call, () =>
          attempt(
            call,
            sender(dispatch, () => Effect.void)
          )
        )
      }
      const open = (call: Call) => {
        const { body, stopper } = call
        const dispatch = (wire: Wire) => dispatchOpen(dispatcher, optionsOf(wire, body.forWire(true)), stopper)
        return printed(call, () => attempt(call, sender(dispatch, collect)))
      }

      /** What the span says of the attempt that counts. */
      const answered = (span: CallSpan, { region, wire, reply }: Attempt<Head>) => {
        span.asked(region)
        span.answered(wire.target.address, reply.status)
      }

      const send = (call: Call): Effect.Effect<Reply, GatewayError> =>
        Effect.suspend(() => {
          const span = openSpan(call.span, call.parent)
          const read = (last: Attempt<WholeReply>): Effect.Effect<Reply, GatewayError> => {
            answered(span, last)
            call.body.release()
            const { headers } = last.reply
            const body = readReply(call, last.reply)
            if (body instanceof GatewayError) return Effect.fail(body)
            const received = ({ object, raw }: Body): Reply => {
              span.received()
              span.named(() => responseNames(object))
              return { region: last.region, requestId: requestIdOf(headers), span, raw, body: object }
            }
            return Effect.isEffect(body) ? Effect.map(body, received) : Effect.succeed(received(body))
          }
          return ended(call, span, Effect.flatMap(whole(call), read))
        })

      const stream = Effect.fnUntraced(function* (call: Call, makeDecoder: () => Decoder) {
        const span = openSpan(call.span, call.parent)
        const last = yield* ended(
          call,
          span,
          Effect.flatMap(open(call), (last) => {
            answered(span, last)
            call.body.release()
            return accepted(call, last)
          })
        )
        const { reply, region } = last
        // A body that has not ended takes its connection with it.
        yield* Effect.addFinalizer((exit) => {
          if (Exit.isFailure(exit)) reply.close()
          else reply.release()
          return Effect.void
        })
        return {
          region,
          requestId: requestIdOf(reply.headers),
          span,
          release: reply.release,
          close: reply.close,
          events: new Decoding(reply, makeDecoder(), span, call.scrub, call.asked)
        }
      })

      return Upstream.of({ send, stream })
    })
  )

  /** With connections of its own. */
  static readonly live = Upstream.layer.pipe(
    Layer.provide(connections),
    Layer.provide(CircuitBreaker.layerStoreMemory())
  )
}

/** A call that fails, or is given up before it is answered, is over. */
const ended = <A>(
  { asked }: Call,
  span: CallSpan,
  effect: Effect.Effect<A, GatewayError>
): Effect.Effect<A, GatewayError> =>
  Effect.onExitPrimitive(effect, (exit) => {
    if (Exit.isSuccess(exit)) return undefined
    const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    span.asked(asked.region)
    if (error === undefined) span.cancelled()
    else span.fail(error)
    span.end()
    return undefined
  })

/** `refused`: the status with which the cloud turned down the ones before. */
const unexpected = (what: string, code: "content-type" | "redirect" | "invalid-utf8" | "too-large", status?: number) =>
  new GatewayError({
    reason: "upstream",
    message: `the cloud that serves this model sent ${what}`,
    code,
    upstreamStatus: status
  })

/** Why a 200 cannot be what was asked for, by its headers; and redirects, which are not followed. */
const refuseHead = ({ contentType }: Call, { status, headers }: Head): GatewayError | undefined => {
  if (status === 200) {
    const encoding = headers["content-encoding"] ?? "identity"
    const type = (headers["content-type"] ?? "").toLowerCase()
    return type.startsWith(contentType) && encoding === "identity"
      ? undefined
      : unexpected("a reply that is not what its API promises", "content-type")
  }
  return status >= 300 && status < 400 ? unexpected("a redirect, which is not followed", "redirect", status) : undefined
}

interface Body {
  readonly raw: string | Buffer
  readonly object: JsonObject
}

/** Text that is not UTF-8 is not repaired: the caller would take the repairs for the model's words. */
const readReply = (call: Call, reply: WholeReply): Body | GatewayError | Effect.Effect<Body, GatewayError> => {
  const { bytes, status, headers } = reply
  const refused = refuseHead(call, reply)
  if (refused !== undefined) return refused
  if (status !== 200) return faultError(statusFault(status, headers, bytes?.toString("utf8") ?? ""), call.scrub)
  if (bytes === undefined) return unexpected("a reply that is too large", "too-large")
  if (!isUtf8(bytes)) return unexpected("a reply that is not valid UTF-8", "invalid-utf8")
  if (!isLargeReply(bytes.length)) {
    const raw = bytes.toString("utf8")
    const object = readReplyObject(raw, call.vectors)
    return object === undefined ? malformed : { raw, object }
  }
  return Effect.flatMap(readLargeReply(bytes), (object) =>
    object === undefined ? Effect.fail(malformed) : Effect.succeed({ raw: bytes, object })
  )
}

/** Fails for anything but a 200 of the promised type. */
const accepted = (call: Call, attempt: Attempt<OpenReply>): Effect.Effect<Attempt<OpenReply>, GatewayError> => {
  const { reply } = attempt
  const refused = refuseHead(call, reply)
  if (refused !== undefined) {
    reply.close()
    return Effect.fail(refused)
  }
  if (reply.status === 200) return Effect.succeed(attempt)
  return Effect.flatMap(collect(reply), (text) =>
    Effect.fail(faultError(statusFault(reply.status, reply.headers, text), call.scrub))
  )
}

/** The text of an error body, or none where it cannot be had or is too long. */
const collect = (reply: OpenReply): Effect.Effect<string> =>
  Effect.gen(function* () {
    const chunks: Array<Uint8Array> = []
    let size = 0
    while (size <= maxErrorBytes) {
      const chunk = yield* Pull.catchDone(reply.next, () => Effect.undefined)
      if (chunk === undefined) return Buffer.concat(chunks, size).toString("utf8")
      size += chunk.length
      chunks.push(chunk)
    }
    return ""
  }).pipe(
    Effect.orElseSucceed(() => ""),
    Effect.ensuring(Effect.sync(reply.close))
  )

const requestIdHeaders = ["x-amzn-requestid", "request-id", "apim-request-id", "x-request-id"] as const
const requestIdOf = (headers: ReplyHeaders) => {
  for (const name of requestIdHeaders) {
    const value = headers[name]
    if (value !== undefined) return value.slice(0, 200)
  }
  return undefined
}
