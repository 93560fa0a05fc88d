/** What a request may use, held until its scope closes: one of the key's streams, and tokens of its quota. */
import { Effect, type Scope } from "effect"
import { estimateTokens, type Quota } from "../access/Quota.ts"
import type { RateLimit } from "../access/RateLimit.ts"
import type { CallerIdentity } from "../api/Security.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Observation } from "./Observation.ts"

/** About four bytes of a prompt are a token, and an event of a stream is about one. */
const usedTokens = ({ tokens, streamEnd, events, bytesIn }: Observation) => {
  if (tokens !== undefined && (streamEnd === undefined || streamEnd === "complete")) return tokens.input + tokens.output
  if (events === 0) return 0
  return (tokens?.input ?? Math.ceil(bytesIn / 4)) + Math.max(tokens?.output ?? 0, events)
}

interface Wanted {
  readonly stream: boolean
  /** Tokens that the reply may have at most; undefined where nothing is charged. */
  readonly maxOutput: number | undefined
}

/**
 * Undefined for a key without such limits. The tokens held are an upper bound, made from the body and the largest output; charged
 * is what the upstream counted, and of a broken stream about what came.
 */
export const makeHold =
  (limit: RateLimit["Service"], quota: Quota["Service"]) =>
  (
    { id, monthlyTokens, streams }: CallerIdentity,
    observation: Observation,
    { maxOutput, stream }: Wanted
  ): Effect.Effect<void, GatewayError, Scope.Scope> | undefined => {
    const slot = stream && streams !== undefined ? limit.stream({ id, streams }) : undefined
    if (monthlyTokens === undefined || maxOutput === undefined) return slot
    const reserve = Effect.suspend(() => {
      const { bytesIn, images, files } = observation
      return quota.reserve({ id, monthlyTokens }, estimateTokens(bytesIn, maxOutput, images + files))
    })
    const tokens = Effect.flatMap(reserve, (reservation) => {
      observation.reservation = reservation
      observation.replyHeaders = { ...observation.replyHeaders, ...reservation.headers }
      // Runs before the reservation is settled, and after a stream has said what it used.
      return Effect.addFinalizer(() => {
        reservation.use(usedTokens(observation))
        return Effect.void
      })
    })
    return slot === undefined ? tokens : Effect.andThen(slot, tokens)
  }
