/** What a request may use, held until its scope closes: one of the streams, and what it may use of the quota. */
import { Effect, type Scope } from "effect"
import { limitsStreams, limitsUse } from "../access/limits.ts"
import type { Quota } from "../access/Quota.ts"
import type { RateLimit } from "../access/RateLimit.ts"
import type { CallerIdentity } from "../api/Security.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import { chargedCost, chargedTokens } from "./charge.ts"
import type { Observation } from "./Observation.ts"

interface Asked {
  readonly stream: boolean
  /** Tokens that are reserved for the reply; undefined where nothing is charged. */
  readonly maxOutput: number | undefined
}

/** Undefined where neither the key nor its team has such limits. */
export const makeHold =
  (limit: RateLimit["Service"], quota: Quota["Service"]) =>
  (
    caller: CallerIdentity,
    observation: Observation,
    { maxOutput, stream }: Asked
  ): Effect.Effect<void, GatewayError, Scope.Scope> | undefined => {
    const slot = stream && limitsStreams(caller) ? limit.stream(caller) : undefined
    if (maxOutput === undefined || !limitsUse(caller)) return slot
    const reserve = Effect.suspend(() =>
      quota.reserve(caller, {
        input: observation.inputEstimate ?? 0,
        output: maxOutput,
        prices: observation.route?.deployment.prices
      })
    )
    const tokens = Effect.flatMap(reserve, (reservation) => {
      observation.reservation = reservation
      observation.replyHeaders = { ...observation.replyHeaders, ...reservation.headers }
      // Runs before the reservation is settled, and after a stream has said what it used.
      return Effect.addFinalizer(() => {
        const used = chargedTokens(observation)
        reservation.use((used?.input ?? 0) + (used?.output ?? 0), chargedCost(observation, used))
        return Effect.void
      })
    })
    return slot === undefined ? tokens : Effect.andThen(slot, tokens)
  }
