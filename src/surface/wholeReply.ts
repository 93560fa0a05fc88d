/** A whole reply: the calls that a request needs under one ceiling, and what each of them came to. */
import { Duration, Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import type { ApiError, MessagesError } from "../api/Errors.ts"
import { type Governance, governanceOfCalls } from "../governance/flags.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { UpstreamFault } from "../model/UpstreamFault.ts"
import type { Provider, Reply } from "../provider/Provider.ts"
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
import type { Answer, Prepared, Ready, Said, Surface } from "./Surface.ts"

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
    observation.fail(failure)
    span.fail(failure)
  }
  observation.finishReason = finishReason
  observation.flags += flags
  span.end()
}

type Limits = Pick<GatewaySettings, "embeddingsConcurrency" | "requestCeiling" | "scanMode">

export const makeWholeReply = ({ embeddingsConcurrency, requestCeiling, scanMode }: Limits) => {
  const ceiling = Duration.toMillis(requestCeiling)
  /** The first call that fails ends the others. To be run at once: the time of the request begins to count. */
  return <P extends Prepared>({
    surface,
    prepared,
    route,
    provider,
    observation
  }: WholeReplyOptions<P>): Effect.Effect<HttpServerResponse.HttpServerResponse, GatewayError> => {
    const stopper = new Stopper()
    observation.call = stopper
    const timer = setTimeout(stopper.stop, ceiling, ceilingError)
    const { operation, bodies } = prepared
    let large = false
    const scanned = (
      reply: Reply,
      { body, calls: _, ...summary }: Said,
      governance: Governance | undefined
    ): Answer => {
      const answer = { ...summary, body: body(governance), flags: governance?.flags.length ?? 0 }
      learn(observation, reply, answer)
      return answer
    }
    const refused = (reply: Reply, fault: UpstreamFault): Effect.Effect<never, GatewayError> => {
      const error = provider.faultError(route, fault)
      reply.span.fail(error)
      reply.span.end()
      return Effect.fail(error)
    }
    /** The same as of a small reply, in slices. */
    const readLarge = (reply: Reply): Effect.Effect<Answer, GatewayError> =>
      Effect.flatMap(
        Effect.andThen(
          surface.ahead === undefined ? Effect.void : inSlices(surface.ahead(reply.body)),
          inOneTurn(() => surface.answer(prepared, reply))
        ),
        (said) =>
          Result.isFailure(said)
            ? refused(reply, said.failure)
            : Effect.map(inSlices(governanceOfCalls(said.success.calls, scanMode)), (governance) =>
                scanned(reply, said.success, governance)
              )
      )
    const read = (reply: Reply): Effect.Effect<Answer, GatewayError> => {
      observation.region = reply.region
      observation.upstreamRequestId = reply.requestId
      if (typeof reply.raw !== "string") {
        large = true
        return readLarge(reply)
      }
      const said = surface.answer(prepared, reply)
      if (Result.isFailure(said)) return refused(reply, said.failure)
      return Effect.succeed(scanned(reply, said.success, atOnce(governanceOfCalls(said.success.calls, scanMode))))
    }
    const respond = (answer: Answer | undefined) => {
      observation.answered()
      const body = answer?.body ?? ""
      const options = { contentType: "application/json" }
      if (body instanceof Uint8Array) return Effect.succeed(HttpServerResponse.uint8Array(body, options))
      if (typeof body === "string") return Effect.succeed(HttpServerResponse.text(body, options))
      if (!large) return Effect.succeed(HttpServerResponse.text(JSON.stringify(body), options))
      return Effect.map(printed(body), (bytes) => HttpServerResponse.uint8Array(bytes, options))
    }
    const send = (body: (typeof bodies)[number]) =>
      provider.send({
        route,
        operation,
        body,
        large: isLarge(observation.bytesIn),
        stopper,
        parent: observation.span,
        asked: observation
      })
    const [only] = bodies
    const { errorAt, join } = surface
    const answered =
      join === undefined && only !== undefined
        ? Effect.flatMap(send(only), (reply) => flatMapNow(read(reply), respond))
        : Effect.flatMap(
            Effect.forEach(
              bodies,
              (body, at) => Effect.mapError(Effect.flatMap(send(body), read), (error) => errorAt?.(error, at) ?? error),
              { concurrency: embeddingsConcurrency }
            ),
            (answers) => respond(join?.(prepared, answers) ?? answers[0])
          )
    return Effect.onExitPrimitive(answered, () => {
      clearTimeout(timer)
      return undefined
    })
  }
}
