/** A whole reply: the calls that a request needs under one ceiling, and what each of them came to. */
import { Duration, Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import type { ApiError, MessagesError } from "../api/Errors.ts"
import { type Governance, governanceOfCalls } from "../governance/flags.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { UpstreamFault } from "../model/UpstreamFault.ts"
import type { Body, Provider, Reply } from "../provider/Provider.ts"
import { Stopper } from "../provider/Stopper.ts"
import type { GatewaySettings } from "../Settings.ts"
import { ceilingError } from "../stream/deadlines.ts"
import type { Progress } from "../stream/Frame.ts"
import { flatMapNow } from "../wire/now.ts"
import { Print } from "../wire/print.ts"
import { atOnce } from "../wire/slices.ts"
import { inOneTurn, inSlices, inTurns } from "../wire/turns.ts"
import { isLarge } from "./body.ts"
import type { Observation } from "./Observation.ts"
import type { Answer, AnswerBody, Prepared, Ready, Said, Surface } from "./Surface.ts"

export interface WholeReplyOptions<P extends Prepared> extends Ready<P> {
  readonly surface: Pick<Surface<never, P, Progress, ApiError | MessagesError>, "ahead" | "answer" | "errorAt" | "join">
  readonly provider: Provider["Service"]
  readonly observation: Observation
}

const printed = (value: object): Effect.Effect<Uint8Array> =>
  Effect.suspend(() => {
    const print = new Print(value)
    return Effect.map(inTurns(print.step), () => Buffer.concat(print.pieces, print.size))
  })

/** What a call came to goes to its span and to the request; several calls of a request add up. */
const learn = (observation: Observation, { span }: Reply, answer: Answer): void => {
  const { failure, finishReason, flags, tokens } = answer
  if (tokens !== undefined) {
    observation.count(tokens)
    span.used(tokens, finishReason, flags)
  }
  if (failure !== undefined) {
    // What a cloud says of its own failure is no output.
    observation.received = 0
    observation.fail(failure)
    span.fail(failure)
  }
  observation.finishReason = finishReason
  observation.flags += flags
  span.end()
}

type Limits = Pick<GatewaySettings, "embeddingsConcurrency" | "requestCeiling" | "scanMode">

/** One request, from its calls to its reply. */
class Whole<P extends Prepared> {
  readonly stopper = new Stopper()
  private readonly options: WholeReplyOptions<P>
  private readonly limits: Limits
  private large = false

  constructor(options: WholeReplyOptions<P>, limits: Limits) {
    this.options = options
    this.limits = limits
  }

  get answered(): Effect.Effect<HttpServerResponse.HttpServerResponse, GatewayError> {
    const { prepared, surface } = this.options
    const { errorAt, join } = surface
    const [only] = prepared.bodies
    if (join === undefined && only !== undefined) {
      return Effect.flatMap(this.send(only), (reply) =>
        flatMapNow(this.read(reply), (answer) => this.respond(answer.body))
      )
    }
    return Effect.flatMap(
      Effect.forEach(
        prepared.bodies,
        (body, at) =>
          Effect.mapError(
            Effect.flatMap(this.send(body), (reply) => this.read(reply)),
            (error) => errorAt?.(error, at) ?? error
          ),
        { concurrency: this.limits.embeddingsConcurrency }
      ),
      (answers) => this.respond((join?.(prepared, answers) ?? answers[0])?.body ?? "")
    )
  }

  private send(body: Body): Effect.Effect<Reply, GatewayError> {
    const { observation, prepared, provider, route } = this.options
    return provider.send({
      route,
      operation: prepared.operation,
      body,
      large: isLarge(observation.bytesIn),
      stopper: this.stopper,
      parent: observation.span,
      asked: observation
    })
  }

  private read(reply: Reply): Effect.Effect<Answer, GatewayError> {
    const { observation, prepared, surface } = this.options
    observation.region = reply.region
    observation.upstreamRequestId = reply.requestId
    if (typeof reply.raw !== "string") return this.readLarge(reply)
    const said = surface.answer(prepared, reply)
    if (Result.isFailure(said)) return this.refused(reply, said.failure)
    const governance = atOnce(governanceOfCalls(said.success.calls, this.limits.scanMode))
    return Effect.succeed(this.scanned(reply, said.success, governance))
  }

  /** The same as of a small reply, in slices. */
  private readLarge(reply: Reply): Effect.Effect<Answer, GatewayError> {
    const { prepared, surface } = this.options
    this.large = true
    const ahead = surface.ahead === undefined ? Effect.void : inSlices(surface.ahead(reply.body))
    return Effect.flatMap(
      Effect.andThen(
        ahead,
        inOneTurn(() => surface.answer(prepared, reply))
      ),
      (said) =>
        Result.isFailure(said)
          ? this.refused(reply, said.failure)
          : Effect.map(inSlices(governanceOfCalls(said.success.calls, this.limits.scanMode)), (governance) =>
              this.scanned(reply, said.success, governance)
            )
    )
  }

  private scanned(reply: Reply, { body, calls: _, ...summary }: Said, governance: Governance | undefined): Answer {
    const answer = { ...summary, body: body(governance), flags: governance?.flags.length ?? 0 }
    learn(this.options.observation, reply, answer)
    return answer
  }

  private refused(reply: Reply, fault: UpstreamFault): Effect.Effect<never, GatewayError> {
    const { observation, provider, route } = this.options
    const error = provider.faultError(route, fault)
    if (fault._tag === "Refused") observation.received = 0
    reply.span.fail(error)
    reply.span.end()
    return Effect.fail(error)
  }

  private respond(body: AnswerBody): Effect.Effect<HttpServerResponse.HttpServerResponse> {
    this.options.observation.answered()
    if (body instanceof Uint8Array) return Effect.succeed(HttpServerResponse.uint8Array(body, asJson))
    if (typeof body === "string") return Effect.succeed(HttpServerResponse.text(body, asJson))
    if (!this.large) return Effect.succeed(HttpServerResponse.text(JSON.stringify(body), asJson))
    return Effect.map(printed(body), (bytes) => HttpServerResponse.uint8Array(bytes, asJson))
  }
}

const asJson = { contentType: "application/json" }

export const makeWholeReply = (limits: Limits) => {
  const ceiling = Duration.toMillis(limits.requestCeiling)
  /** The first call that fails ends the others. To be run at once: the time of the request begins to count. */
  return <P extends Prepared>(
    options: WholeReplyOptions<P>
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, GatewayError> => {
    const whole = new Whole(options, limits)
    options.observation.call = whole.stopper
    const timer = setTimeout(whole.stopper.stop, ceiling, ceilingError)
    return Effect.onExitPrimitive(whole.answered, () => {
      clearTimeout(timer)
      return undefined
    })
  }
}
