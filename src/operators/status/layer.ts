/** The status page at `/` of the metrics port (docs/operation.md#status-page). */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { Effect, Layer, Option } from "effect"
import { MetricsPort } from "../../telemetry/prometheus.ts"
import { Activity } from "./Activity.ts"
import { makeView } from "./view.ts"
import { makeViewers } from "./viewers.ts"

const part = (name: string): string => readFileSync(new URL(`./page/${name}`, import.meta.url), "utf8")

const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** One text, and the policy by which it loads nothing, and connects to this port only. */
const makePage = () => {
  const style = part("page.css")
  const script = part("page.js")
  return {
    html: part("page.html")
      .replace("<style></style>", () => `<style>${style}</style>`)
      .replace("<script></script>", () => `<script>${script}</script>`),
    policy: `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
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
