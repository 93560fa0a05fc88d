/** About how much a cloud has generated, in bytes: what is charged of a reply that it has not counted. */
import type { Json } from "../wire/json.ts"

/** Of a text, and of JSON as it is printed; what is absent has none. */
export const outputBytes = (value: Json | undefined): number =>
  value === undefined || value === null
    ? 0
    : Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value))
