/**
 * Fields by which a cloud would fetch, run, reach out or keep something. They are refused in every spelling, on every surface, in the
 * same words: bodies are passed on with what the gateway does not know (docs/api.md#nothing-is-stored).
 */
import type { JsonObject } from "../wire/json.ts"

const outside = "not available, because requests do not leave the boundary"
const stored = "not available, because nothing is stored"

const refusals = (why: string, names: string): ReadonlyArray<readonly [name: string, why: string]> =>
  names.split(" ").map((name) => [name, why])

/** By name, without separators and in small letters: some clouds read more than one spelling. */
const reasons: ReadonlyMap<string, string> = new Map([
  ...refusals(
    outside,
    "websearch websearchoptions searchparameters filesearch codeinterpreter computeruse toolresources"
  ),
  ...refusals(outside, "googlesearch googlesearchretrieval retrieval urlcontext codeexecution enhancements plugins"),
  ...refusals(outside, "datasource datasources mcpserver mcpservers connection connections connectionid"),
  ...refusals(outside, "agent agents agentreference assistant assistantid container containers"),
  ...refusals(outside, "extrabody extraheaders extraquery webhook webhooks webhookconfig callback callbacks"),
  ...refusals(stored, "background thread threadid cachedcontent"),
  ...refusals(`${stored}; send the full input each turn`, "previousresponseid conversation conversationid"),
  ["prompt", `${stored}; send the text itself`],
  ["store", "must be false or omitted; nothing is stored"],
  ["promptcacheretention", "must be in_memory or omitted; nothing is stored"],
  ["functions", "not accepted; use tools"],
  ["functioncall", "not accepted; use tool_choice"]
])

/** A switch that is off, and the cache in memory, which the vendor's documents and its libraries write in two ways. */
const asksNothing = (name: string, value: unknown): boolean =>
  name === "promptcacheretention"
    ? value === "in_memory" || value === "in-memory"
    : value === false && ["store", "background", "conversation"].includes(name)

/** Why a body may not leave. `readElsewhere` are fields of the surface's own that it refuses or removes itself. */
export const refuseCloudFields = (body: JsonObject, readElsewhere: ReadonlyArray<string> = []): string | undefined => {
  for (const field of Object.keys(body)) {
    const value = body[field]
    if (value === null || value === undefined) continue
    const name = field.toLowerCase().replace(/[_-]/g, "")
    const reason = reasons.get(name)
    if (reason === undefined || readElsewhere.includes(field) || asksNothing(name, value)) continue
    return `${field}: ${reason}`
  }
  return undefined
}
