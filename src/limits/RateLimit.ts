/** How often and how much at a time a key and its team may ask (docs/api.md#authentication). */
import { Context, Duration, Effect, Exit, Layer, Scope } from "effect"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import { plural } from "../wire/plural.ts"
import { type Demand, Ledger, makeWatch, untilBack } from "./Ledger.ts"
import { type BudgetDemand, limitHeaders, limitRefusal } from "./limitReply.ts"
import { type Limit, limitsOf, requestBudgets } from "./limits.ts"
import { layerMemory } from "./sqliteStore.ts"

const noStream = (full: ReadonlyArray<Limit>) =>
  new GatewayError({
    reason: "rate-limit",
    message: `${full
      .map(({ limit, owner }) => `${owner} may run ${limit} ${plural(limit, "stream")} at a time.`)
      .join(" ")} Try again when one has ended.`,
    retryAfter: 1
  })

const make = Effect.fnUntraced(function* (lease: Duration.Duration) {
  const shared = yield* Ledger
  const local = Context.get(yield* Layer.build(Layer.fresh(layerMemory)), Ledger)
  const scope = yield* Effect.scope
  const watch = makeWatch(shared, "rate-limit", "Requests a minute are counted by each process for itself.")
  const watchStreams = makeWatch(shared, "streams", "Streams at a time are counted by each process for itself.")
  const keep = Duration.times(lease, 2)

  /**
   * Takes one of the minute's requests of the key and its team, of both or none. Returns the headers of the reply; fails with
   * `rate-limit`, the same headers and the seconds to wait.
   */
  const take = Effect.fnUntraced(function* (caller: CallerIdentity) {
    const demands = requestBudgets(caller).map(
      (budget): BudgetDemand => ({ budget, account: budget.account, limit: budget.limit, amount: 1, least: 1 })
    )
    if (demands.length === 0) return {}
    const held = yield* Effect.catch(watch(shared.take(demands)), () => Effect.orDie(local.take(demands)))
    const refusal = limitRefusal(demands, held)
    return refusal === undefined ? limitHeaders(demands, held) : yield* refusal
  })

  /**
   * Takes one of the streams of the key and its team until the scope closes; fails with `rate-limit` when all are in use. Returns what
   * gives it back before that.
   */
  const stream = Effect.fnUntraced(function* (caller: CallerIdentity) {
    const limits = limitsOf(caller, "streams")
    const demands = limits.map(
      ({ limit, user }): Demand => ({ account: { name: `${user}:streams`, keep }, limit, amount: 1, least: 1 })
    )
    const nothing = demands.map(({ account }) => ({ account, amount: 0 }))
    const id = crypto.randomUUID()
    const holdIn = (ledger: Ledger["Service"]) =>
      Effect.map(ledger.hold({ id, demands, lease }), (held) => ({ held, ledger }))
    /** A slot that is not given back holds up the key and its team until the end of its lease; then it is free anyway. */
    const releaseLater = Effect.retry(shared.settle(id, nothing), untilBack).pipe(
      Effect.timeoutOption(lease),
      Effect.forkIn(scope),
      Effect.asVoid
    )
    const acquire = watchStreams(holdIn(shared)).pipe(
      Effect.catch(({ doubtful }) =>
        // A store that did not answer may hold a slot anyway.
        Effect.andThen(doubtful === true ? releaseLater : Effect.void, Effect.orDie(holdIn(local)))
      ),
      Effect.filterOrFail(
        ({ held }) => held.granted,
        ({ held }) => noStream(limits.filter(({ limit }, n) => (held.shares[n]?.held ?? 0) >= limit))
      )
    )
    const slot = yield* Scope.fork(yield* Effect.scope)
    yield* Effect.acquireRelease(acquire, ({ ledger }) =>
      // What the local count does says nothing of the store.
      ledger === shared
        ? Effect.catch(watchStreams(shared.settle(id, nothing)), () => releaseLater)
        : Effect.ignore(local.settle(id, nothing))
    ).pipe(Scope.provide(slot))
    return Scope.close(slot, Exit.void)
  })
  return { take, stream }
})

export class RateLimit extends Context.Service<RateLimit, Effect.Success<ReturnType<typeof make>>>()(
  "gateway/limits/RateLimit"
) {
  /**
   * Counts in the shared store, and in this process alone while that store is unavailable. `lease`: the longest a slot may be held
   * (`leaseOf`); one that a crashed process held is free by then.
   */
  static readonly layer = (lease: Duration.Input) => Layer.effect(RateLimit, make(Duration.fromInputUnsafe(lease)))
}
