/** Browsers that show the page: one stream of events for all of them, made only while there are any. */
import type { ServerResponse } from "node:http"
import { Effect } from "effect"
import { printEvents } from "../../wire/sse.ts"

/** More viewers get 503. */
const maxViewers = 32
/** What a viewer may leave unread, in bytes; a slower one is cut off, and its browser connects again. */
const maxUnread = 4 * 1024 * 1024
const interval = "2 seconds"

/** `view` makes the text of an event. */
export const makeViewers = (view: Effect.Effect<string>) =>
  Effect.gen(function* () {
    const viewers = new Set<ServerResponse>()
    const scope = yield* Effect.scope
    const context = yield* Effect.context<never>()
    let last: string | undefined
    let running = false

    const send = (viewer: ServerResponse, text: string) => {
      if (viewer.writableLength > maxUnread) viewer.destroy()
      else viewer.write(printEvents([{ data: text }]))
    }
    const round = Effect.map(view, (text) => {
      last = text
      for (const viewer of viewers) send(viewer, text)
    })
    const rounds = round.pipe(
      Effect.catchCause((cause) => Effect.logError("The status page cannot be filled", cause)),
      Effect.andThen(Effect.sleep(interval)),
      Effect.repeat({ while: () => viewers.size > 0 }),
      Effect.ensuring(
        Effect.sync(() => {
          running = false
          last = undefined
        })
      ),
      Effect.forkIn(scope),
      Effect.provideContext(context)
    )
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const viewer of viewers) viewer.destroy()
      })
    )

    return (response: ServerResponse, headers: Readonly<Record<string, string>>): void => {
      if (viewers.size >= maxViewers) {
        response.writeHead(503, { ...headers, "content-type": "text/plain; charset=utf-8", "retry-after": "5" })
        response.end("too many viewers\n")
        return
      }
      response.writeHead(200, { ...headers, "content-type": "text/event-stream; charset=utf-8" })
      response.flushHeaders()
      viewers.add(response)
      response.once("close", () => viewers.delete(response))
      response.once("error", () => viewers.delete(response))
      if (last !== undefined) send(response, last)
      if (running) return
      running = true
      Effect.runFork(rounds)
    }
  })
