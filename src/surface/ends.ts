/** Ends running streams that may not go on: their key was revoked or has expired, or the server has to stop. */
import { Deferred, Effect, Fiber } from "effect"
import { Keys } from "../access/Keys.ts"
import { GatewayError } from "../model/GatewayError.ts"
import { Crowd } from "../wire/Crowd.ts"
import { Drain } from "./Drain.ts"

const revokedError = new GatewayError({
  reason: "forbidden",
  message: "the API key has been revoked or has expired",
  code: "revoked"
})

type Listener = (error: GatewayError) => void

/** One fiber a key with running streams, and one for the drain; a stream itself costs a place in a crowd. */
export const makeEnds = Effect.gen(function* () {
  const keys = yield* Keys
  const drain = yield* Drain
  const scope = yield* Effect.scope
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const running = new Map<string, Crowd<Listener>>()
  const tell = (listeners: Iterable<Listener>, error: GatewayError) => {
    for (const listener of [...listeners]) listener(error)
  }
  yield* Deferred.await(drain.expired).pipe(
    Effect.flatMap((error) =>
      Effect.sync(() => {
        for (const listeners of [...running.values()]) tell(listeners, error)
      })
    ),
    Effect.forkIn(scope)
  )
  const listenersOf = (keyId: string) => {
    const known = running.get(keyId)
    if (known !== undefined) return known
    const listeners = new Crowd<Listener>()
    running.set(keyId, listeners)
    const ended = Effect.andThen(
      keys.ended(keyId),
      Effect.sync(() => {
        running.delete(keyId)
        tell(listeners, revokedError)
      })
    )
    Fiber.runIn(run(ended), scope)
    return listeners
  }
  /** Calls back when the key's streams must end; answers how to stop watching. */
  return (keyId: string, listener: Listener): (() => void) => listenersOf(keyId).add(listener)
})
