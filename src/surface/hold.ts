/** What a request may use, held until its scope closes: one of the streams, and what it may use of the quota. */
import { Effect, type Scope } from "effect"
import type { CloudQuota } from "../access/CloudQuota.ts"
import { limitsStreams, limitsUse } from "../access/limits.ts"
import type { Quota } from "../access/Quota.ts"
import type { RateLimit } from "../access/RateLimit.ts"
import type { CallerIdentity } from "../api/Security.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Observation } from "./Observation.ts"

interface Asked {
  /** Calls of the cloud. */
  readonly calls: number
  readonly stream: boolean
  /** Tokens that are reserved for the reply; undefined where nothing is charged. */
  readonly maxOutput: number | undefined
}

/** Undefined where neither the key nor its team has such limits, and the operator none with the cloud. */
export const makeHold = (limit: RateLimit["Service"], quota: Quota["Service"], cloud: CloudQuota["Service"]) => {
  const ofTokens = (caller: CallerIdentity, observation: Observation, output: number) => {
    const reserve = Effect.suspend(() =>
      quota.reserve(caller, {
        input: observation.inputEstimate ?? 0,
        output,
        prices: observation.route?.deployment.prices
      })
    )
    return Effect.flatMap(reserve, (reservation) => {
      observation.reservation = reservation
      observation.replyHeaders = { ...observation.replyHeaders, ...reservation.headers }
      // Runs before the reservation is settled, and after a stream has said what it used.
      return Effect.addFinalizer(() => {
        const { charged, cost } = observation
        reservation.use((charged?.input ?? 0) + (charged?.output ?? 0), cost)
        return Effect.void
      })
    })
  }

  const ofCloud = (caller: CallerIdentity, observation: Observation, calls: number, output: number) =>
    observation.route === undefined
      ? undefined
      : cloud.take(
          observation.route.deployment,
          caller,
          { requests: calls, tokens: (observation.inputEstimate ?? 0) + output },
          () => {
            const { charged } = observation
            return charged === undefined ? undefined : charged.input + charged.output
          }
        )

  return (
    caller: CallerIdentity,
    observation: Observation,
    { calls, maxOutput, stream }: Asked
  ): Effect.Effect<void, GatewayError, Scope.Scope> | undefined => {
    const slot = stream && limitsStreams(caller) ? limit.stream(caller) : undefined
    const tokens = maxOutput !== undefined && limitsUse(caller) ? ofTokens(caller, observation, maxOutput) : undefined
    // Last: whoever waits here has all else that it needs.
    return inTurn(inTurn(slot, tokens), ofCloud(caller, observation, calls, maxOutput ?? 0))
  }
}

type Held = Effect.Effect<void, GatewayError, Scope.Scope> | undefined

const inTurn = (first: Held, second: Held): Held =>
  first === undefined ? second : second === undefined ? first : Effect.andThen(first, second)
