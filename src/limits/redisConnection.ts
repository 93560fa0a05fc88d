/** The connection to Redis: how it begins, how long an answer may take, and how it fails. */
import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { type Context, Deferred, Effect, Fiber, Layer, References } from "effect"
import * as Redis from "effect/persistence/Redis"
import { ClientClosedError, ClientOfflineError, ErrorReply } from "redis"
import { tlsPolicy } from "../tlsPolicy.ts"
import { LedgerError } from "./Ledger.ts"

export const reasonOf = ({ cause }: Redis.RedisError): string =>
  cause instanceof Error ? cause.message : "no connection"

/** Whether Redis may have done what failed so: not what was never sent, nor what it refused. */
const mayBeDone = ({ cause }: Redis.RedisError): boolean =>
  ![ClientClosedError, ClientOfflineError, ErrorReply].some((kind) => cause instanceof kind)

/**
 * A Redis that is silent for a second counts as lost. The wait goes in ten steps, and what has come is read between them: a process
 * that is busy for a second is not taken for a Redis that is silent.
 */
const patience = Effect.andThen(
  Effect.repeat(Effect.sleep("100 millis"), { times: 9 }),
  Effect.fail(new LedgerError({ message: "Redis: no answer in time", doubtful: true }))
)

export const bounded = <A>(effect: Effect.Effect<A, Redis.RedisError>): Effect.Effect<A, LedgerError> =>
  Effect.raceFirst(
    Effect.mapError(
      effect,
      (error) => new LedgerError({ message: `Redis: ${reasonOf(error)}`, doubtful: mayBeDone(error) })
    ),
    patience
  )

/**
 * Begins a new connection where a ping has no answer in time. The client's own ping waits for as long as it takes, and its limit of time
 * sees bytes: a connection whose answers cannot be read, because something else came among them, would stay lost.
 */
const watchLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const redis = yield* Redis.Redis
    const { use } = yield* NodeRedis.NodeRedis
    const reconnect = use((client) => {
      client.destroy()
      return client.connect()
    })
    yield* Effect.raceFirst(
      Effect.exit(redis.send("PING")),
      Effect.catch(patience, () => reconnect)
    ).pipe(Effect.ignore, Effect.delay("2 seconds"), Effect.forever, Effect.forkScoped)
  })
)

/**
 * Ends within a second. The client's own `close` waits for answers to all that it has sent, which a Redis that is silent never gives,
 * also while it connects.
 */
const endsInTime = <A, E>(layer: Layer.Layer<A, E>) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const built = yield* Deferred.make<Context.Context<A>, E>()
      const held = Effect.scoped(Effect.andThen(Deferred.into(Layer.build(layer), built), Effect.never))
      yield* Effect.acquireRelease(Effect.forkDetach(held), (fiber) =>
        Effect.timeoutOption(Effect.interruptible(Fiber.interrupt(fiber)), "1 second")
      )
      return yield* Deferred.await(built)
    })
  )

/**
 * A connection that fails a command immediately while Redis is away, and reconnects for as long as it takes. The layer fails when
 * Redis cannot be reached at the start.
 */
export const layerConnection = (url: string): Layer.Layer<Redis.Redis | NodeRedis.NodeRedis, Redis.RedisError> =>
  Layer.suspend(() => {
    let connected = false
    const connection = NodeRedis.layer({
      url,
      disableOfflineQueue: true,
      socket: {
        ...tlsPolicy,
        connectTimeout: 5000,
        // Notices a peer that vanished without closing while a connection begins; the ping keeps a quiet one from looking so.
        socketTimeout: 15_000,
        reconnectStrategy: (retries, cause) => (connected ? Math.min(2000, 50 * 2 ** Math.min(retries, 10)) : cause)
      }
    }).pipe(
      Layer.tap(() =>
        Effect.sync(() => {
          connected = true
        })
      ),
      // The client logs every attempt to reconnect; its users log once that Redis is lost.
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
    )
    return endsInTime(Layer.provideMerge(watchLayer, connection))
  })
