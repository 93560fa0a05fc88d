/** What would make a cloud keep something is refused, in the same words on every surface (docs/api.md#nothing-is-stored). */
import type { JsonObject } from "../wire/json.ts"

/** The vendor's documents and its libraries write the one value that passes in two ways. */
const inMemory: ReadonlySet<unknown> = new Set(["in_memory", "in-memory"])

/** Longer retention of the prompt's cache, which the cloud writes to a disk. */
export const refuseRetention = ({ prompt_cache_retention: retention }: JsonObject): string | undefined =>
  retention === undefined || retention === null || inMemory.has(retention)
    ? undefined
    : "prompt_cache_retention: must be in_memory or omitted; nothing is stored"
