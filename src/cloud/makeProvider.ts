/** The provider of a cloud: it prints the body of a call, has it made (`Attempts.ts`), and reads the reply, whole or event by event. */
import { isUtf8 } from "node:buffer"
import { Effect, Exit, Stream } from "effect"
import { type GatewayError, noRoom } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import { hostOf } from "../settings/fields.ts"
import { decode } from "../stream/reply.ts"
import type { CallSpan, ResponseNames } from "../telemetry/spans.ts"
import { isObject, type JsonObject, objectOf, readObject, textOf } from "../wire/json.ts"
import { type Numbers, parseReply } from "../wire/parse.ts"
import { beginningOf, print } from "../wire/print.ts"
import type { Event } from "../wire/sse.ts"
import { Attempts, endOnFailure, type OpenReply } from "./Attempts.ts"
import { clientError, framingError, malformed, type Scrub, scrubbed, unexpected } from "./fault.ts"
import { type CallKind, type Cloud, Provider, type UpstreamCall } from "./Provider.ts"

/** Longest event that is parsed for names, in characters; a response event may repeat the whole request. */
const maxEarlyEvent = 64 * 1024
/** So many events are parsed for names. Azure's first one, of its content filter, has none. */
const earlyEvents = 3

/** Replies that may call tools with JSON values: their numbers are printed again as they were written. */
const numbersOf = (bytes: Buffer): Numbers =>
  bytes.includes('"input"') || bytes.includes('"functionCall"') ? "written" : "exact"

const shown = (value: unknown): string | undefined => beginningOf(textOf(value) ?? "", 100) || undefined

/** `gen_ai.response.*` of a whole reply or of one of a stream's first events, of any vendor; no field with the model's output. */
const responseNames = (body: JsonObject): ResponseNames => {
  const inner = objectOf(body.message ?? body.response ?? body)
  return {
    model: shown(inner.model) ?? shown(inner.modelVersion),
    id: shown(inner.id) ?? shown(inner.responseId)
  }
}

/** Reads the names in the first events of a stream. */
const nameReader = (span: CallSpan) => {
  let left = earlyEvents
  return (events: ReadonlyArray<Event>): void => {
    for (const { data } of events.slice(0, left)) {
      const read = () => responseNames((data.length > maxEarlyEvent ? undefined : readObject(data)) ?? {})
      left = span.named(read) ? 0 : left - 1
      if (left === 0) return
    }
  }
}

/**
 * Takes out of an error message what belongs to the operator: the address, and the names of the deployment. A host that is a word of
 * letters only (`tools`) stays, because messages have such words of their own.
 */
const makeScrubOf = ({ endpoint: { baseUrl }, names = [] }: Cloud) => {
  const host = baseUrl === undefined ? "" : hostOf(baseUrl)
  return ({ deployment, model }: Route): Scrub =>
    (message) =>
      scrubbed(
        [
          [/^[a-z]*$/.test(host) ? "" : host, "the upstream"],
          [deployment.model, model.id],
          [deployment.countModel ?? "", model.id],
          ...names
        ],
        message
      )
}

/** Says in the span when a stream has come to its end. */
const noteEnd = ({ attempt: { span } }: OpenReply) =>
  Effect.addFinalizer((exit) => Effect.sync(() => (Exit.isSuccess(exit) ? span.received() : undefined)))

export const makeProvider = (cloud: Cloud) =>
  Effect.gen(function* () {
    const attempts = yield* Attempts
    const scrub = makeScrubOf(cloud)
    const callCloud = attempts(cloud, yield* cloud.auth, scrub)

    /** Fails for any reply but a 200 of the promised type. */
    const open = (call: UpstreamCall & CallKind) =>
      Effect.suspend(() => {
        const { body, headers = {}, wrap } = cloud.endpoint.message(call, call.body())
        const { bytesIn } = call.record
        const inner = print(body, bytesIn)
        const sent = wrap === undefined ? inner : Effect.flatMap(inner, (json) => print(wrap(json), bytesIn))
        return Effect.flatMap(sent, (text) =>
          callCloud({ call, body: typeof text === "string" ? Buffer.from(text) : text, headers })
        )
      })

    const read = Effect.fnUntraced(function* ({ response }: OpenReply, call: CallKind) {
      const bytes = Buffer.from(yield* Effect.mapError(response.arrayBuffer, clientError))
      // Text that is not UTF-8 is not repaired: the caller would take the repairs for the model's words.
      if (!isUtf8(bytes)) return yield* unexpected("a reply that is not valid UTF-8", "invalid-utf8")
      const parsed = yield* Effect.mapError(parseReply(bytes, numbersOf(bytes)), () => malformed)
      const object = isObject(parsed) ? parsed : undefined
      const body = object && (cloud.endpoint.reply === undefined ? object : cloud.endpoint.reply(call, object))
      return body === undefined ? yield* malformed : { bytes, body }
    })

    const send = Effect.fnUntraced(function* (asked: UpstreamCall) {
      const call = { ...asked, stream: false }
      const opened = yield* open(call)
      const { noteLimit, span } = opened.attempt
      const { body, bytes } = yield* endOnFailure(span)(read(opened, call))
      span.received()
      span.named(() => responseNames(body))
      return { bytes, body, span, noteLimit }
    }, Effect.scoped)

    const stream = (asked: UpstreamCall): Stream.Stream<Event, GatewayError> => {
      const call = { ...asked, stream: true }
      const { record, route } = call
      return Stream.unwrap(
        Effect.map(Effect.tap(open(call), noteEnd), ({ attempt, response }) => {
          const readNames = nameReader(attempt.span)
          return response.stream.pipe(
            Stream.mapError(clientError),
            decode({
              decoder: cloud.framing(call).decoder(),
              onRead: (events) => {
                attempt.lastBytesAt = performance.now()
                attempt.span.chunk()
                readNames(events)
              },
              hold: (bytes) => (record.takeMemory(bytes) ? undefined : noRoom),
              framingError: (failure) => {
                const error = framingError(failure, scrub(route))
                attempt.noteLimit(error.upstreamStatus)
                return error
              }
            })
          )
        })
      )
    }

    return Provider.of({ send, stream, scrub })
  })
