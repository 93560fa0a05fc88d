/**
 * Room for large request bodies: what many of them at once would fill is the memory of the whole process. A request keeps its
 * body, as text, as a tree and as what is sent upstream, until it is over, so that it keeps its room until then, too.
 */
import { getHeapStatistics } from "node:v8"
import { Context, Effect, Layer, type Scope } from "effect"
import { GatewayError } from "../model/GatewayError.ts"

export const noRoom = new GatewayError({
  reason: "overloaded",
  message: "the gateway has as many large requests in hand as it takes; try again in a moment",
  retryAfter: 1
})

export class BodyRoom extends Context.Service<
  BodyRoom,
  {
    /**
     * Takes room for a body as its bytes come, and says whether there was any; a body that is alone always fits. The scope gives
     * it back.
     */
    readonly open: Effect.Effect<(bytes: number) => boolean, never, Scope.Scope>
  }
>()("gateway/surface/BodyRoom") {
  static readonly layer = Layer.sync(BodyRoom, () => {
    /** Bytes of large bodies at a time, of all requests of the process: an eighth of what its heap may become. */
    const most = getHeapStatistics().heap_size_limit / 8
    let held = 0
    const open = Effect.suspend(() => {
      let own = 0
      const release = Effect.sync(() => {
        held -= own
      })
      const take = (bytes: number): boolean => {
        own += bytes
        held += bytes
        return held <= most || held === own
      }
      return Effect.as(
        Effect.addFinalizer(() => release),
        take
      )
    })
    return { open }
  })
}
