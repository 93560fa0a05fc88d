/** A call's input, a JSON value for the vendor and a text on chat: printed immediately, or for a large reply ahead and in slices. */
import { arrayOf, isShallow, isShallowInSlices, type Json, type JsonObject, objectOf } from "../wire/json.ts"
import { printText } from "../wire/print.ts"
import type { Slices } from "../wire/slices.ts"

/** Of inputs that were printed ahead; undefined for one that is nested too deep. */
const texts = new WeakMap<object, string | undefined>()

const isAhead = (input: Json | undefined): input is JsonObject =>
  typeof input === "object" && input !== null && texts.has(input)

/** Whether an input is not nested too deep to be printed. */
export const isPrintable = (input: Json | undefined): boolean =>
  isAhead(input) ? texts.get(input) !== undefined : isShallow(input)

/** The text of an input that is printable. */
export const inputText = (input: Json | undefined): string =>
  (isAhead(input) ? texts.get(input) : undefined) ?? JSON.stringify(input ?? {})

/** Inputs in a reply of Claude or Gemini; others say texts. */
const inputsOf = ({ candidates, content }: JsonObject): ReadonlyArray<Json | undefined> => [
  ...arrayOf(content).map((block) => objectOf(block).input),
  ...arrayOf(objectOf(objectOf(arrayOf(candidates)[0]).content).parts).map(
    (part) => objectOf(objectOf(part).functionCall).args
  )
]

/** Prints the inputs of a reply's calls; `inputText` then has it. */
export function* printInputs(reply: JsonObject): Slices<void> {
  for (const input of inputsOf(reply)) {
    if (typeof input !== "object" || input === null) continue
    texts.set(input, (yield* isShallowInSlices(input)) ? yield* printText(input) : undefined)
  }
}
