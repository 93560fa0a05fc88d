/** Browsers that show the page: one stream of events for all of them, made only while there are any. */
import type { ServerResponse } from "node:http"
import { Effect, FiberSet, Schedule, Stream } from "effect"
import { printEvents } from "../../wire/sse.ts"

/** More viewers get 503. */
const maxViewers = 32
/** What a viewer may leave unread, in bytes; a slower one is cut off, and its browser connects again. */
const maxUnread = 4 * 1024 * 1024
const interval = "2 seconds"

/** `view` makes the text of an event. */
export const makeViewers = (view: Effect.Effect<string>) =>
  Effect.gen(function* () {
    const shown = view.pipe(
      Effect.map((text) => [printEvents([{ data: text }])]),
      Effect.catchCause((cause) => Effect.as(Effect.logError("The status page cannot be filled", cause), []))
    )
    const events = yield* Stream.fromEffectSchedule(shown, Schedule.spaced(interval)).pipe(
      Stream.flattenIterable,
      Stream.share({ capacity: 1, strategy: "sliding", replay: 1 })
    )
    const run = yield* FiberSet.makeRuntime<never>()
    let viewers = 0

    return (response: ServerResponse, headers: Readonly<Record<string, string>>): void => {
      if (viewers >= maxViewers) {
        response.writeHead(503, { ...headers, "content-type": "text/plain; charset=utf-8", "retry-after": "5" })
        response.end("too many viewers\n")
        return
      }
      viewers++
      response.writeHead(200, { ...headers, "content-type": "text/event-stream; charset=utf-8" })
      response.flushHeaders()
      const fiber = run(
        Stream.runForEach(events, (text) =>
          Effect.sync(() => (response.writableLength > maxUnread ? void response.destroy() : void response.write(text)))
        ).pipe(Effect.onExit(() => Effect.sync(() => response.destroy())))
      )
      response.once("error", () => response.destroy())
      response.once("close", () => {
        viewers--
        fiber.interruptUnsafe()
      })
    }
  })
