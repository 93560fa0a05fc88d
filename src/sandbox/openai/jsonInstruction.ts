/** What JSON the instructions ask for in words. */
import { isObject, type JsonObject } from "../json.ts"

/**
 * The JSON that a system prompt asks for in words, which models without structured output follow too: of a schema, or any
 * object. `undefined` where it asks for none.
 */
export const jsonInstruction = (instructions: string): JsonObject | "json" | undefined => {
  const asked = /\bconforms? to (?:this|the following) JSON Schema\b/i.exec(instructions)
  if (asked === null)
    return /^(?:answer|reply|respond) with (?:one|a) JSON object\b/im.test(instructions) ? "json" : undefined
  const rest = instructions.slice(asked.index)
  try {
    const schema: unknown = JSON.parse(rest.slice(rest.indexOf("{"), rest.lastIndexOf("}") + 1))
    return isObject(schema) ? schema : undefined
  } catch {
    return undefined
  }
}
