/** What a request may use, held until its scope closes: one of the streams, and what it may use of the quota. */
import { Effect } from "effect"
import type { CallerIdentity } from "../contract/Security.ts"
import type { CloudQuota } from "../limits/CloudQuota.ts"
import { limitsStreams, limitsUse } from "../limits/limits.ts"
import type { Quota } from "../limits/Quota.ts"
import type { RateLimit } from "../limits/RateLimit.ts"
import type { Prepared } from "../surfaces/Surface.ts"
import type { RequestRecord } from "./RequestRecord.ts"

/** Does nothing where neither the key nor its team has such limits, and the operator none with the cloud. */
export const makeHold = (limit: RateLimit["Service"], quota: Quota["Service"], cloud: CloudQuota["Service"]) => {
  const ofTokens = (caller: CallerIdentity, observation: RequestRecord, output: number) => {
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

  const ofCloud = (caller: CallerIdentity, observation: RequestRecord, calls: number, output: number) =>
    observation.route === undefined
      ? Effect.void
      : (cloud.take(
          observation.route.deployment,
          caller,
          { requests: calls, tokens: (observation.inputEstimate ?? 0) + output },
          () => {
            const { charged } = observation
            return charged === undefined ? undefined : charged.input + charged.output
          }
        ) ?? Effect.void)

  return Effect.fnUntraced(function* (
    caller: CallerIdentity,
    observation: RequestRecord,
    { bodies, maxOutput, stream }: Prepared
  ) {
    if (stream && limitsStreams(caller)) yield* limit.stream(caller)
    if (maxOutput !== undefined && limitsUse(caller)) yield* ofTokens(caller, observation, maxOutput)
    // Last: a request that waits here has all else that it needs.
    yield* ofCloud(caller, observation, bodies.length, maxOutput ?? 0)
  })
}
