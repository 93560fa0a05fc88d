/** A whole reply: the calls that a request needs under one ceiling, and what each of them came to. */
import { Duration, Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Body, Provider, Reply } from "../cloud/Provider.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import { governanceOfCalls } from "../governance/accumulate.ts"
import type { GatewaySettings } from "../Settings.ts"
import type { Answer, AnswerBody, Prepared, Ready, Surface } from "../surfaces/Surface.ts"
import { print } from "../wire/print.ts"
import { inOneTurn, inSlices } from "../wire/slices.ts"
import type { RequestRecord } from "./RequestRecord.ts"

interface WholeReplyOptions<P extends Prepared> extends Ready<P> {
  readonly provider: Provider["Service"]
  readonly record: RequestRecord
  readonly surface: Pick<Surface<never, P, ApiError | MessagesError>, "ahead" | "answer" | "errorAt" | "join">
}

/** What a call came to goes to its span and to the request; several calls of a request add up. */
const learn = (record: RequestRecord, { span }: Reply, answer: Answer): void => {
  const { failure, filtered, finishReason, flags, tokens } = answer
  if (tokens !== undefined) {
    record.addTokens(tokens)
    span.used(tokens, finishReason, flags)
  }
  if (failure !== undefined) {
    // What a cloud says of its own failure is no output.
    record.received = 0
    record.fail(failure)
    span.fail(failure)
  }
  record.filtered ||= filtered === true
  record.flags += flags
  span.end()
}

type Limits = Pick<GatewaySettings, "callConcurrency" | "requestCeiling" | "scanMode">

const json = { contentType: "application/json" }

export const makeWholeReply = ({ callConcurrency, requestCeiling, scanMode }: Limits) => {
  const ceiling = Duration.toMillis(requestCeiling)
  const read = Effect.fnUntraced(function* <P extends Prepared>(options: WholeReplyOptions<P>, reply: Reply) {
    const { record, prepared, provider, route, surface } = options
    if (surface.ahead !== undefined) yield* inSlices(surface.ahead(reply.body))
    const answered = yield* inOneTurn(() => surface.answer(prepared, reply))
    if (Result.isFailure(answered)) {
      const error = provider.faultError(route, answered.failure)
      if (answered.failure._tag === "Refused") record.received = 0
      reply.span.fail(error)
      reply.span.end()
      return yield* error
    }
    const { body, calls, ...summary } = answered.success
    const governance = yield* inSlices(governanceOfCalls(calls, scanMode))
    const answer: Answer = { ...summary, body: body(governance), flags: governance?.flags.length ?? 0 }
    learn(record, reply, answer)
    const { guarding } = record
    if (guarding === undefined) return answer
    return { ...answer, body: yield* guarding.reply(answer.body, reply.body) }
  })

  const ask = <P extends Prepared>(options: WholeReplyOptions<P>, body: Body, until: number) => {
    const { prepared, provider, record, route } = options
    const sent = provider.send({ route, operation: prepared.operation, body: () => body, record, until })
    return Effect.flatMap(sent, (reply) => Effect.map(read(options, reply), (answer) => ({ answer, reply })))
  }

  const respond = (body: AnswerBody, size: number) =>
    Effect.map(
      typeof body === "string" || body instanceof Uint8Array ? Effect.succeed(body) : print(body, size),
      (printed) =>
        typeof printed === "string"
          ? HttpServerResponse.text(printed, json)
          : HttpServerResponse.uint8Array(printed, json)
    )

  /** The first call that fails ends the others. */
  return Effect.fnUntraced(function* <P extends Prepared>(options: WholeReplyOptions<P>) {
    const { record, prepared, surface } = options
    const until = performance.now() + ceiling
    const [only] = prepared.bodies
    if (surface.join === undefined && only !== undefined) {
      const { answer, reply } = yield* ask(options, only, until)
      record.addServedHeaders()
      return yield* respond(record.guarding?.reported(answer.body, reply.body) ?? answer.body, reply.bytes.length)
    }
    const answers = yield* Effect.forEach(
      prepared.bodies,
      (body, at) => Effect.mapError(ask(options, body, until), (error) => surface.errorAt?.(error, at) ?? error),
      { concurrency: callConcurrency }
    )
    record.addServedHeaders()
    const joined = surface.join?.(
      prepared,
      answers.map(({ answer }) => answer)
    )
    const body = joined?.body ?? ""
    return yield* respond(record.guarding?.reported(body, {}) ?? body, 0)
  })
}
