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
  const ofTokens = (caller: CallerIdentity, record: RequestRecord, output: number) => {
    const reserve = Effect.suspend(() =>
      quota.reserve(caller, {
        input: record.inputEstimate ?? 0,
        output,
        prices: record.route?.deployment.prices
      })
    )
    return Effect.flatMap(reserve, (reservation) => {
      record.reservation = reservation
      record.replyHeaders = { ...record.replyHeaders, ...reservation.headers }
      // Runs before the reservation is settled, and after a stream has said what it used.
      return Effect.addFinalizer(() => {
        const { charged, cost } = record
        reservation.use((charged?.input ?? 0) + (charged?.output ?? 0), cost)
        return Effect.void
      })
    })
  }

  const ofCloud = (caller: CallerIdentity, record: RequestRecord, calls: number, output: number) =>
    record.route === undefined
      ? Effect.void
      : (cloud.take(
          record.route.deployment,
          caller,
          { requests: calls, tokens: (record.inputEstimate ?? 0) + output },
          () => {
            const { charged } = record
            return charged === undefined ? undefined : charged.input + charged.output
          }
        ) ?? Effect.void)

  return Effect.fnUntraced(function* (
    caller: CallerIdentity,
    record: RequestRecord,
    { bodies, maxOutput, stream }: Prepared
  ) {
    if (stream && limitsStreams(caller)) yield* limit.stream(caller)
    if (maxOutput !== undefined && limitsUse(caller)) yield* ofTokens(caller, record, maxOutput)
    // Last: a request that waits here has all else that it needs.
    yield* ofCloud(caller, record, bodies.length, maxOutput ?? 0)
  })
}
