/** The provider of a cloud: it prints a call, makes it, and reads the reply, whole or event by event. */
import { isUtf8 } from "node:buffer"
import { Effect, Exit, Scope, Stream } from "effect"
import { type GatewayError, noRoom } from "../catalog/GatewayError.ts"
import { decode } from "../stream/reply.ts"
import type { ResponseNames } from "../telemetry/spans.ts"
import { isObject, type JsonObject, objectOf, readObject, textOf } from "../wire/json.ts"
import { type Numbers, parseReply } from "../wire/parse.ts"
import { print } from "../wire/print.ts"
import type { Event } from "../wire/sse.ts"
import { type Answer, Attempts, endOnFailure } from "./attempts.ts"
import { faultError, framingError, malformed, unexpected } from "./fault.ts"
import { type CallKind, type Cloud, Provider, type UpstreamCall } from "./Provider.ts"
import { clientError } from "./transport.ts"

/** Longest first event that is looked into for names, in characters; a response event may repeat the whole request. */
const maxFirstEvent = 64 * 1024

/** Names in replies that call tools with JSON values, which are printed again as they were written. */
const hasInput = (bytes: Buffer): boolean => bytes.includes('"input"') || bytes.includes('"functionCall"')
const numbersOf = (bytes: Buffer): Numbers => (hasInput(bytes) ? "written" : "exact")

const shown = (value: unknown): string | undefined => textOf(value)?.slice(0, 100) || undefined

/**
 * `gen_ai.response.*` of a whole reply or of a stream's first event, in the words of any of the vendors. Only these fields of
 * the vendors' own: nothing of what a model said.
 */
const responseNames = (body: JsonObject): ResponseNames => {
  const inner = objectOf(body.message ?? body.response ?? body)
  return {
    model: shown(inner.model) ?? shown(inner.modelVersion),
    id: shown(inner.id) ?? shown(inner.responseId)
  }
}

/** The time of a call is over when its stream has come to its end. */
const receivedAtEnd = ({ attempt: { span } }: Answer) =>
  Effect.flatMap(Effect.scope, (scope) =>
    Scope.addFinalizerExit(scope, (exit) => Effect.sync(() => (Exit.isSuccess(exit) ? span.received() : undefined)))
  )

export const makeProvider = (cloud: Cloud) =>
  Effect.map(Attempts, (attempts) => {
    const answered = attempts(cloud)

    /** Opens a call; fails for any reply but a 200 of the promised type. */
    const open = (call: UpstreamCall, kind: CallKind) =>
      Effect.suspend(() => {
        const { body, headers = {} } = cloud.endpoint.message(kind, call.body())
        return Effect.flatMap(print(body, call.record.bytesIn), (text) =>
          answered({ call, kind, body: typeof text === "string" ? Buffer.from(text) : text, headers })
        )
      })

    const read = Effect.fnUntraced(function* ({ response }: Answer, kind: CallKind) {
      const bytes = Buffer.from(yield* Effect.mapError(response.arrayBuffer, clientError))
      // Text that is not UTF-8 is not repaired: the caller would take the repairs for the model's words.
      if (!isUtf8(bytes)) return yield* unexpected("a reply that is not valid UTF-8", "invalid-utf8")
      const parsed = yield* Effect.mapError(parseReply(bytes, numbersOf(bytes)), () => malformed)
      const object = isObject(parsed) ? parsed : undefined
      const body = object && (cloud.endpoint.reply === undefined ? object : cloud.endpoint.reply(kind, object))
      return body === undefined ? yield* malformed : { bytes, body }
    })

    const send = Effect.fnUntraced(function* (call: UpstreamCall) {
      const kind = { route: call.route, operation: call.operation, stream: false }
      const answer = yield* open(call, kind)
      const { span } = answer.attempt
      const { body, bytes } = yield* endOnFailure(span)(read(answer, kind))
      span.received()
      span.named(() => responseNames(body))
      return { bytes, body, span }
    }, Effect.scoped)

    const stream = (call: UpstreamCall): Stream.Stream<Event, GatewayError> => {
      const kind = { route: call.route, operation: call.operation, stream: true }
      const { record, route } = call
      return Stream.unwrap(
        Effect.map(Effect.tap(open(call, kind), receivedAtEnd), ({ attempt, response }) =>
          decode({
            decoder: cloud.framing(kind).decoder(),
            arrived: () => {
              attempt.lastBytesAt = performance.now()
              attempt.span.chunk()
            },
            first: ({ data }) => {
              attempt.span.named(() =>
                responseNames((data.length > maxFirstEvent ? undefined : readObject(data)) ?? {})
              )
            },
            hold: (bytes) => (record.take(bytes) ? undefined : noRoom),
            framingError: (failure) => framingError(failure, cloud.scrub(route)),
            clientError
          })(response.stream)
        )
      )
    }

    return Provider.of({ send, stream, faultError: (route, fault) => faultError(fault, cloud.scrub(route)) })
  })
