/** A whole reply: makes the calls that a request needs, within one time limit, and records what each of them used. */
import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { faultError } from "../cloud/fault.ts"
import type { Provider, Reply } from "../cloud/Provider.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import { governanceOfCalls } from "../governance/accumulate.ts"
import type { GatewaySettings } from "../Settings.ts"
import type { AnswerBody, Prepared, Ready, ScannedAnswer, Surface } from "../surfaces/Surface.ts"
import type { JsonObject } from "../wire/json.ts"
import { print } from "../wire/print.ts"
import { inOneTurn, inSlices } from "../wire/slices.ts"
import type { ReplyGuards } from "./Guarding.ts"
import type { RequestRecord } from "./RequestRecord.ts"

/** What a reply needs of its request. */
export interface ReplyOptions<P extends Prepared> extends Ready<P> {
  readonly provider: Provider["Service"]
  readonly record: RequestRecord
  readonly replyGuards?: ReplyGuards | undefined
  /** When it must have ended, in milliseconds of `performance.now()`. */
  readonly deadline: number
}

interface WholeReplyOptions<P extends Prepared> extends ReplyOptions<P> {
  readonly surface: Pick<Surface<never, P, ApiError | MessagesError>, "answer" | "errorAt" | "join">
}

/** Records an answer in the span of its call and in the request's record, where several calls add up. */
const recordAnswer = (record: RequestRecord, { span }: Reply, answer: ScannedAnswer): void => {
  const { failure, filtered, finishReason, flags, tokens } = answer
  if (tokens !== undefined) {
    record.addTokens(tokens)
    span.used(tokens, finishReason, flags)
  }
  if (failure !== undefined) {
    // An error is no output.
    record.received = 0
    record.fail(failure)
    span.fail(failure)
  }
  record.filtered ||= filtered === true
  record.flags += flags
}

const json = { contentType: "application/json" }

export const makeWholeReply = ({
  callConcurrency,
  scanMode
}: Pick<GatewaySettings, "callConcurrency" | "scanMode">) => {
  /** Reads the reply, scans its tool calls and has it guarded. */
  const readReply = Effect.fnUntraced(function* <P extends Prepared>(options: WholeReplyOptions<P>, reply: Reply) {
    const { record, prepared, provider, replyGuards, route, surface } = options
    const scrub = provider.scrub(route)
    // It waits for its turn, and has one slice where it prints no large calls.
    const answering = yield* inOneTurn(() => surface.answer(prepared, reply, scrub))
    const answered = yield* inSlices(answering)
    if (Result.isFailure(answered)) {
      const error = faultError(answered.failure, scrub)
      if (answered.failure._tag === "Refused") record.received = 0
      reply.noteLimit(error.upstreamStatus, error.retryAfter)
      reply.span.fail(error)
      return yield* error
    }
    const { body, calls, ...summary } = answered.success
    const governance = yield* inSlices(governanceOfCalls(calls, scanMode))
    const answer: ScannedAnswer = { ...summary, body: body(governance), flags: governance?.flags.length ?? 0 }
    recordAnswer(record, reply, answer)
    if (replyGuards === undefined) return answer
    return { ...answer, body: yield* replyGuards.reply(answer.body, reply.body) }
  })

  const callCloud = <P extends Prepared>(options: WholeReplyOptions<P>, body: JsonObject) => {
    const { deadline, prepared, provider, record, route } = options
    const sent = provider.send({ route, operation: prepared.operation, body: () => body, record, deadline })
    return Effect.flatMap(sent, (reply) =>
      readReply(options, reply).pipe(
        Effect.map((answer) => ({ answer, reply })),
        Effect.ensuring(Effect.sync(reply.span.end))
      )
    )
  }

  const respond = (body: AnswerBody, size: number) =>
    Effect.map(
      typeof body === "string" || body instanceof Uint8Array ? Effect.succeed(body) : print(body, size),
      (printed) =>
        typeof printed === "string"
          ? HttpServerResponse.text(printed, json)
          : HttpServerResponse.uint8Array(printed, json)
    )

  /** Several calls run side by side; the first that fails ends the others. */
  return Effect.fnUntraced(function* <P extends Prepared>(options: WholeReplyOptions<P>) {
    const { prepared, replyGuards, surface } = options
    const answered = yield* Effect.forEach(
      prepared.bodies,
      (body, at) => Effect.mapError(callCloud(options, body), (error) => surface.errorAt?.(error, at) ?? error),
      { concurrency: callConcurrency }
    )
    const [{ answer, reply }] = answered
    const answers = answered.map(({ answer }) => answer)
    const body = surface.join?.(prepared, answers) ?? answer.body
    return yield* respond(replyGuards?.reported(body, reply.body) ?? body, reply.bytes.length)
  })
}
