/**
 * The status page at `/` of the metrics port (docs/operation.md#status-page), with one stream of events for all browsers that show
 * it.
 */
import { hash } from "node:crypto"
import { readFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { Effect, FiberSet, Layer, Option, Schedule, Stream } from "effect"
import { MetricsPort } from "../../telemetry/prometheus.ts"
import { printEvents } from "../../wire/sse.ts"
import { Activity } from "./Activity.ts"
import { makeView } from "./view.ts"

/** More viewers get 503. */
const maxViewers = 32
/** What a viewer may leave unread, in bytes; a slower one is cut off, and its browser connects again. */
const maxUnread = 4 * 1024 * 1024

/** `view` makes the text of an event. */
export const makeViewers = Effect.fnUntraced(function* (view: Effect.Effect<string>) {
  const shown = view.pipe(
    Effect.map((text) => [printEvents([{ data: text }])]),
    Effect.catchCause((cause) => Effect.as(Effect.logError("The status page cannot be filled", cause), []))
  )
  const events = yield* Stream.fromEffectSchedule(shown, Schedule.spaced("2 seconds")).pipe(
    Stream.flattenIterable,
    Stream.share({ capacity: 1, strategy: "sliding", replay: 1 })
  )
  const run = yield* FiberSet.makeRuntime<never>()
  let viewers = 0

  return (response: ServerResponse, headers: Readonly<Record<string, string>>): void => {
    if (viewers >= maxViewers) {
      response.writeHead(503, { ...headers, "content-type": "text/plain; charset=utf-8", "retry-after": "5" })
      return void response.end("too many viewers\n")
    }
    response.writeHead(200, { ...headers, "content-type": "text/event-stream; charset=utf-8" })
    if (response.req.method === "HEAD") return void response.end()
    viewers++
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

const part = (name: string): string => readFileSync(new URL(`./page/${name}`, import.meta.url), "utf8")

const source = (text: string): string => `'sha256-${hash("sha256", text, "base64")}'`

/** One text, and the policy by which it loads nothing, and connects to this port only. */
const makePage = () => {
  const style = part("page.css")
  const script = part("page.js")
  return {
    html: part("page.html")
      .replace("<style></style>", () => `<style>${style}</style>`)
      .replace("<script></script>", () => `<script>${script}</script>`),
    policy: `default-src 'none'; script-src ${source(script)}; style-src ${source(style)}; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  }
}

const common = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin"
}

/** Empty where there is no metrics port. */
export const statusLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const port = yield* Effect.serviceOption(MetricsPort)
    const activity = yield* Effect.serviceOption(Activity)
    if (Option.isNone(port) || Option.isNone(activity)) return
    const view = yield* makeView(activity.value)
    const addViewer = yield* makeViewers(Effect.map(view, (view) => JSON.stringify(view)))
    const { html, policy } = makePage()
    const headers = { ...common, "content-type": "text/html; charset=utf-8", "content-security-policy": policy }
    yield* port.value.serve("/", (_, response) => void response.writeHead(200, headers).end(html))
    yield* port.value.serve("/events", (_, response) => addViewer(response, common))
  })
)
