/**
 * Items of earlier replies that come back as input (docs/decisions.md#responses-surface): what client libraries added to them goes,
 * and so does what refers to a reply that the cloud would have stored.
 */
import { type Adjusted, removed } from "../vendors/adjustments.ts"
import type { JsonObject } from "../wire/json.ts"
import { compileStrip, strip } from "../wire/strip.ts"

/** What a library made of an item, and where an item came from: no API takes these (docs/upstreams.md#items-of-earlier-replies). */
const added = compileStrip([
  ...["parsed_arguments", "created_by", "provider_data", "providerData"].map((name) => `input[].${name}`),
  ...["parsed", "provider_data", "providerData"].map((name) => `input[].content[].${name}`),
  "input[].output[].created_by"
])

/** The cloud looks for a stored item by its ID. A call is found by its `call_id` and a message has its content, so no ID is needed. */
const withoutId = (item: JsonObject): JsonObject => {
  if (item.id === undefined || (item.role ?? item.call_id ?? undefined) === undefined) return item
  const { id: _, ...rest } = item
  return rest
}

/** The items without what a library made of them. `adjusted` takes what goes. */
export const withoutAdded = (items: ReadonlyArray<JsonObject>, adjusted: Adjusted): ReadonlyArray<JsonObject> => {
  const { input } = strip({ input: items }, added, (path, value) => {
    if (value !== null) adjusted.add(removed(path))
  })
  return Array.isArray(input) ? input : items
}

/** The items without what refers to a stored reply. `adjusted` takes what goes. */
export const withoutStored = (items: ReadonlyArray<JsonObject>, adjusted: Adjusted): ReadonlyArray<JsonObject> => {
  const kept: Array<JsonObject> = []
  for (const item of items) {
    // Without their encrypted content, which never left, the cloud cannot use them.
    if (item.type === "reasoning") {
      adjusted.add(removed("input.reasoning"))
      continue
    }
    const sent = withoutId(item)
    if (sent !== item && item.id !== null) adjusted.add(removed("input.id"))
    kept.push(sent)
  }
  return kept
}
