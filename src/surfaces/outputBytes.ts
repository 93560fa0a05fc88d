/** About how much a cloud has generated, in bytes: what is charged of a reply that it has not counted. */
import type { Json } from "../wire/json.ts"

/** Of texts, and of JSON as it is printed; what is absent has none. */
export const outputBytes = (...values: ReadonlyArray<Json | undefined>): number =>
  values.reduce<number>(
    (sum, value) =>
      value === undefined || value === null
        ? sum
        : sum + Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value)),
    0
  )
