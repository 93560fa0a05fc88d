/** How much output a body asks a cloud for, which is reserved of a quota (docs/decisions.md#limits-and-quotas). */
import type { Model } from "../catalog/Catalog.ts"
import { type JsonObject, numberOf, objectOf } from "../wire/json.ts"

/** Reserved where no limit is sent. */
const unlimited = 4096

/** The limit that is sent, in the words of each vendor, in tokens. */
export const reservedOutput = (body: JsonObject, { maxOutputTokens }: Model): number => {
  const sent =
    numberOf(body.max_tokens) ??
    numberOf(body.max_completion_tokens) ??
    numberOf(body.max_output_tokens) ??
    numberOf(objectOf(body.generationConfig).maxOutputTokens)
  // What makes no sense is refused by the cloud.
  return Math.min(sent !== undefined && sent >= 0 ? Math.ceil(sent) : unlimited, maxOutputTokens)
}
