/** How often and how much at a time a key may ask (docs/api.md#authentication). */
import { Context, Duration, Effect, Layer, type Scope } from "effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { GatewayError } from "../model/GatewayError.ts"
import { type Hold, Ledger, type LedgerError } from "./Ledger.ts"
import { makeWatch, storePatience } from "./outage.ts"
import { rateHeaders } from "./rateHeaders.ts"
import { makeSqliteStore } from "./sqliteStore.ts"

export interface RateLimitOptions {
  /** The longest a stream may last (`GATEWAY_STREAM_CEILING`): a slot that a crashed process held is free after it. */
  readonly streamCeiling: Duration.Input
}

/** A key that has a limit of requests. */
export interface RequestsKey {
  readonly id: string
  readonly requestsPerMinute: number
}

/** A key that has a limit of streams. */
export interface StreamsKey {
  readonly id: string
  /** At the same time. */
  readonly streams: number
}

type Headers = Readonly<Record<string, string>>

export class RateLimit extends Context.Service<
  RateLimit,
  {
    /**
     * Takes one request out of the key's token bucket, which holds a minute's requests. Returns the headers of the reply; fails
     * with `rate-limit`, the same headers and the seconds to wait.
     */
    readonly take: (key: RequestsKey) => Effect.Effect<Headers, GatewayError>
    /** Takes one of the key's streams until the scope closes; fails with `rate-limit` when all are in use. */
    readonly stream: (key: StreamsKey) => Effect.Effect<void, GatewayError, Scope.Scope>
  }
>()("gateway/access/RateLimit") {
  /** Counts in the shared store, and in this process alone while that store is lost. */
  static readonly layer = (
    options: RateLimitOptions
  ): Layer.Layer<RateLimit, LedgerError, Ledger | RateLimiter.RateLimiterStore> =>
    Layer.effect(
      RateLimit,
      Effect.gen(function* () {
        const local = yield* makeSqliteStore(":memory:")
        const localLimiter = yield* RateLimiter.make.pipe(Effect.provide(local))
        const sharedLimiter = yield* RateLimiter.make
        return RateLimit.of({
          take: makeTake(sharedLimiter, localLimiter),
          stream: makeStream(yield* Ledger, Context.get(local, Ledger), Duration.fromInputUnsafe(options.streamCeiling))
        })
      })
    )
}

const exceeded = (limit: number, seconds: number) =>
  new GatewayError({
    reason: "rate-limit",
    message: `This API key may send ${limit} requests a minute. Try again in ${seconds} s.`,
    retryAfter: seconds,
    headers: rateHeaders("requests", limit, 0, 60)
  })

const makeTake = (shared: RateLimiter.RateLimiter, local: RateLimiter.RateLimiter) => {
  const watch = makeWatch("rate-limit", "Requests a minute are counted by each process for itself.")
  return ({ id, requestsPerMinute: limit }: RequestsKey): Effect.Effect<Headers, GatewayError> => {
    // Exceeding the limit is a success of the store; only the store's own failure may fall through to the local count.
    const consume = (limiter: RateLimiter.RateLimiter) =>
      limiter.consume({ key: id, limit, window: "1 minute", algorithm: "token-bucket", onExceeded: "fail" }).pipe(
        Effect.map(({ remaining, resetAfter }) =>
          rateHeaders("requests", limit, remaining, Duration.toSeconds(resetAfter))
        ),
        Effect.catchReason("RateLimiterError", "RateLimitExceeded", ({ retryAfter }) =>
          Effect.succeed(exceeded(limit, Math.max(1, Math.ceil(Duration.toSeconds(retryAfter)))))
        )
      )
    return watch(Effect.timeout(consume(shared), storePatience)).pipe(
      Effect.catch(() => Effect.orDie(consume(local))),
      Effect.flatMap((result) => (result instanceof GatewayError ? Effect.fail(result) : Effect.succeed(result)))
    )
  }
}

const makeStream = (shared: Ledger["Service"], local: Ledger["Service"], lease: Duration.Duration) => {
  const watch = makeWatch("streams", "Streams at a time are counted by each process for itself.")
  return Effect.fnUntraced(function* ({
    id,
    streams: limit
  }: StreamsKey): Effect.fn.Return<void, GatewayError, Scope.Scope> {
    const request: Hold = {
      account: { name: `${id}:streams`, keep: Duration.times(lease, 2) },
      id: crypto.randomUUID(),
      amount: 1,
      limit,
      lease
    }
    const holdIn = (ledger: Ledger["Service"]) => Effect.map(ledger.hold(request), (held) => ({ held, ledger }))
    const acquire = watch(holdIn(shared)).pipe(
      Effect.catch(() => Effect.orDie(holdIn(local))),
      Effect.filterOrFail(
        ({ held }) => held.granted,
        () =>
          new GatewayError({
            reason: "rate-limit",
            message: `This API key may run ${limit} ${limit === 1 ? "stream" : "streams"} at a time. Try again when one has ended.`,
            retryAfter: 1
          })
      )
    )
    // A slot that cannot be given back now comes back at the end of its lease. What the local count does says nothing of the store.
    yield* Effect.acquireRelease(acquire, ({ ledger }) => {
      const settle = ledger.settle(request.account, request.id, 0)
      return Effect.ignore(ledger === shared ? watch(settle) : settle)
    })
  })
}
