/** How often and how much at a time a key and its team may ask (docs/api.md#authentication). */
import { Context, Duration, Effect, Layer, Schedule, type Scope } from "effect"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import { plural } from "../wire/plural.ts"
import { type Demand, Ledger, type LedgerError, makeWatch } from "./Ledger.ts"
import { type BudgetDemand, limitHeaders, limitRefusal } from "./limitReply.ts"
import { type Limit, limitsOf, requestBudgets } from "./limits.ts"
import { layerMemory } from "./sqliteStore.ts"

type Headers = Readonly<Record<string, string>>

export class RateLimit extends Context.Service<
  RateLimit,
  {
    /**
     * Takes one of the minute's requests of the key and its team, of both or none. Returns the headers of the reply; fails with `rate-limit`, the same headers and the seconds to wait.
     */
    readonly take: (caller: CallerIdentity) => Effect.Effect<Headers, GatewayError>
    /** Takes one of the streams of the key and its team until the scope closes; fails with `rate-limit` when all are in use. */
    readonly stream: (caller: CallerIdentity) => Effect.Effect<void, GatewayError, Scope.Scope>
  }
>()("gateway/limits/RateLimit") {
  /**
   * Counts in the shared store, and in this process alone while that store is unavailable. `ceiling`: the longest a stream may last
   * (`GATEWAY_STREAM_CEILING`); a slot that a crashed process held is free after it.
   */
  static readonly layer = (ceiling: Duration.Input): Layer.Layer<RateLimit, LedgerError, Ledger> =>
    Layer.effect(
      RateLimit,
      Effect.gen(function* () {
        const shared = yield* Ledger
        const local = Context.get(yield* Layer.build(Layer.fresh(layerMemory)), Ledger)
        return RateLimit.of({
          take: makeTake(shared, local),
          stream: makeStream(shared, local, Duration.fromInputUnsafe(ceiling), yield* Effect.scope)
        })
      })
    )
}

const makeTake = (shared: Ledger["Service"], local: Ledger["Service"]) => {
  const watch = makeWatch(shared, "rate-limit", "Requests a minute are counted by each process for itself.")
  return (caller: CallerIdentity): Effect.Effect<Headers, GatewayError> => {
    const demands = requestBudgets(caller).map(
      (budget): BudgetDemand => ({ budget, account: budget.account, limit: budget.limit, amount: 1, least: 1 })
    )
    return Effect.flatMap(
      Effect.catch(watch(shared.take(demands)), () => Effect.orDie(local.take(demands))),
      (held) => {
        const refusal = held.granted ? undefined : limitRefusal(demands, held)
        return refusal === undefined ? Effect.succeed(limitHeaders(demands, held)) : Effect.fail(refusal)
      }
    )
  }
}

const noStream = (full: ReadonlyArray<Limit>) =>
  new GatewayError({
    reason: "rate-limit",
    message: `${full
      .map(({ limit, owner }) => `${owner.name} may run ${limit} ${plural(limit, "stream")} at a time.`)
      .join(" ")} Try again when one has ended.`,
    retryAfter: 1
  })

const makeStream = (
  shared: Ledger["Service"],
  local: Ledger["Service"],
  lease: Duration.Duration,
  scope: Scope.Scope
) => {
  const watch = makeWatch(shared, "streams", "Streams at a time are counted by each process for itself.")
  const keep = Duration.times(lease, 2)
  return Effect.fnUntraced(function* (caller: CallerIdentity): Effect.fn.Return<void, GatewayError, Scope.Scope> {
    const limits = limitsOf(caller, "streams")
    const demands = limits.map(
      ({ limit, user }): Demand => ({ account: { name: `${user}:streams`, keep }, limit, amount: 1, least: 1 })
    )
    const id = crypto.randomUUID()
    const holdIn = (ledger: Ledger["Service"]) =>
      Effect.map(ledger.hold({ id, demands, lease }), (held) => ({ held, ledger }))
    const releaseIn = (ledger: Ledger["Service"]) =>
      ledger.settle(
        id,
        demands.map(({ account }) => ({ account, amount: 0 }))
      )
    // A store that did not answer may hold a slot anyway.
    const releaseLater = Effect.forkIn(Effect.retry(releaseIn(shared), Schedule.spaced("5 seconds")), scope)
    const acquire = watch(holdIn(shared)).pipe(
      Effect.catch(({ doubtful }) =>
        Effect.andThen(doubtful === true ? releaseLater : Effect.void, Effect.orDie(holdIn(local)))
      ),
      Effect.filterOrFail(
        ({ held }) => held.granted,
        ({ held }) => noStream(limits.filter(({ limit }, n) => (held.shares[n]?.held ?? 0) >= limit))
      )
    )
    // A slot that cannot be given back now comes back at the end of its lease. What the local count does says nothing of the
    // store.
    yield* Effect.acquireRelease(acquire, ({ ledger }) => {
      const settle = releaseIn(ledger)
      return Effect.ignore(ledger === shared ? watch(settle) : settle)
    })
  })
}
