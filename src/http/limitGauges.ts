/** How near keys and teams are to their limits, and keys to their end, as gauges (docs/operation.md#observing). */
import { DateTime, Effect, Layer, Metric, Schedule, ScopedRef } from "effect"
import type { Limits } from "../contract/Security.ts"
import { isOver, type Key } from "../limits/KeyFile.ts"
import { Keys } from "../limits/Keys.ts"
import { limitKinds, millionths } from "../limits/limits.ts"
import { Quota } from "../limits/Quota.ts"
import type { Use } from "../limits/usageTotals.ts"
import { gaugeOf, type MetricsBy } from "../telemetry/metrics.ts"

type Labels = Readonly<Record<string, string>>

const usedRatio = Metric.gauge("gateway_limit_used_ratio", {
  description: "The used part of a limit on tokens or money of today or of this month, by who has it"
})
const expireDays = Metric.gauge("gateway_keys_expire_days", { description: "Days until the next key expires" })

/** Series that come and go: returns a function that shows those of the last values, with the largest or the smallest value of each. */
const makeSeries = (gauge: typeof usedRatio, choose: (...values: ReadonlyArray<number>) => number) =>
  Effect.map(
    ScopedRef.make<void>(() => undefined),
    (shown) => (values: ReadonlyArray<readonly [Labels, number]>) => {
      const latest = new Map<string, readonly [Labels, number]>()
      for (const [labels, value] of values) {
        const name = JSON.stringify(labels)
        latest.set(name, [labels, choose(value, latest.get(name)?.[1] ?? value)])
      }
      const series = Effect.forEach(
        latest.values(),
        ([labels, value]) => gaugeOf(Metric.withAttributes(gauge, labels), () => value),
        { discard: true }
      )
      return ScopedRef.set(shown, series)
    }
  )

const budgets = ["dailyTokens", "monthlyTokens", "dailyCost", "monthlyCost"] as const
const isLimited = (of: Limits): boolean => budgets.some((name) => of[name] !== undefined)

const ratios = (of: Limits, use: Use | undefined, labels: Labels): ReadonlyArray<readonly [Labels, number]> =>
  budgets.flatMap((name) => {
    const limit = of[name]
    const { option, unit } = limitKinds[name]
    if (limit === undefined || use === undefined) return []
    return [[{ limit: option, ...labels }, use[name] / (unit === "cost" ? limit * millionths : limit)]]
  })

const day = 86_400_000

/** By whom (`GATEWAY_METRICS_BY`): `team` has the nearest of a team's keys, `none` the nearest of all. `holder` is whose limit it is. */
export const limitGauges = (by: MetricsBy) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { inForce } = yield* Keys
      const { usageTotals } = yield* Quota
      const showUsed = yield* makeSeries(usedRatio, Math.max)
      const showExpiring = yield* makeSeries(expireDays, Math.min)
      const teamLabel = (team: string | undefined): Labels => (by === "none" || team === undefined ? {} : { team })
      const keyLabels = ({ id, team }: Key): Labels =>
        by === "key" ? { key: id, ...teamLabel(team) } : teamLabel(team)

      const look = Effect.gen(function* () {
        const book = inForce()
        const now = DateTime.toEpochMillis(yield* DateTime.now)
        const working = book.keys.filter((key) => key.disabled === undefined && !isOver(key, now))
        yield* showExpiring(
          working.flatMap((key) =>
            key.expires === undefined
              ? []
              : [[keyLabels(key), (DateTime.toEpochMillis(key.expires) - now) / day] as const]
          )
        )
        const keys = working.filter(isLimited)
        const teams = book.teams.filter(isLimited)
        const totals = yield* usageTotals({ keys, teams })
        yield* showUsed([
          ...teams.flatMap((team, n) => ratios(team, totals.teams[n], { holder: "team", ...teamLabel(team.name) })),
          ...keys.flatMap((key, n) => ratios(key, totals.keys[n], { holder: "key", ...keyLabels(key) }))
        ])
      })
      // Where the store is lost, `gateway_access_store_up` says so.
      yield* Effect.ignore(look).pipe(Effect.repeat(Schedule.spaced("1 minute")), Effect.forkScoped)
    })
  )
