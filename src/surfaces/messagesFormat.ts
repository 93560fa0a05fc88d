/**
 * `output_config.format` of a messages request where the deployment does not take it: an instruction is sent in its place, and a Markdown
 * fence around the answer is removed, as on the chat surface (docs/decisions.md#structured-output).
 */
import type { Adjusted } from "../vendors/adjustments.ts"
import { jsonInstruction } from "../vendors/chatRequest.ts"
import { takesFormat } from "../vendors/claude/structured.ts"
import { jsonFenceFilter, type TextFilter } from "../vendors/textFilters.ts"
import { arrayOf, isObject, type JsonObject, numberOf, objectOf, readObject, textOf, without } from "../wire/json.ts"
import type { Event } from "../wire/sse.ts"
import type { Strip } from "../wire/strip.ts"
import { blocksOf } from "./messageTurns.ts"

/** The format that is asked for; `output_format` is the field's name as a beta. */
const formatOf = ({ output_config, output_format }: JsonObject): JsonObject | undefined => {
  const format = objectOf(output_config).format ?? output_format
  return isObject(format) && format.type === "json_schema" && isObject(format.schema) ? format : undefined
}

/** Whether an instruction is sent in place of the format. */
export const isEmulated = (body: JsonObject, strip: Strip): boolean =>
  formatOf(body) !== undefined && !takesFormat(strip)

/** The body with the format where the deployment takes it, or with the instruction. */
export const fitFormat = (body: JsonObject, strip: Strip, adjusted: Adjusted): JsonObject => {
  const format = formatOf(body)
  if (format === undefined) return body
  const config = objectOf(body.output_config)
  const rest = without(body, ["output_format", "output_config"])
  if ((config.format ?? undefined) !== undefined && isObject(body.output_format)) adjusted.removed("output_format")
  if (takesFormat(strip)) return { ...rest, output_config: { ...config, format } }
  adjusted.changed("output_config.format", "json_schema", "instruction")
  for (const name of Object.keys(format)) {
    if (name !== "type" && name !== "schema") adjusted.removed(`output_config.format.${name}`)
  }
  const others = without(config, ["format"])
  const instruction = { type: "text", text: jsonInstruction(objectOf(format.schema)) }
  return {
    ...rest,
    ...(Object.keys(others).length === 0 ? {} : { output_config: others }),
    system: [...blocksOf(rest.system), instruction]
  }
}

/** A whole message, without fences around its texts. */
export const withoutFence = (message: JsonObject): JsonObject => ({
  ...message,
  content: arrayOf(message.content).map((block) => {
    const text = isObject(block) && block.type === "text" ? textOf(block.text) : undefined
    if (text === undefined) return block
    const filter = jsonFenceFilter()
    return { ...objectOf(block), text: filter.push(text) + filter.end() }
  })
})

/** Texts that may be open at the same time, at most: more than a reply has, because each takes memory. Others stay as they are. */
const maxOpen = 1_000

/** The same of a stream: its events, with the texts of each block filtered. It has state, made anew for each stream. */
export const fenceRemover = (): ((events: ReadonlyArray<Event>) => ReadonlyArray<Event>) => {
  const filters = new Map<number, TextFilter>()
  const textDelta = (index: number, text: string): Event => ({
    event: "content_block_delta",
    data: JSON.stringify({ type: "content_block_delta", index, delta: { type: "text_delta", text } })
  })
  const changed = (event: Event): ReadonlyArray<Event> => {
    const fields = readObject(event.data) ?? {}
    const index = numberOf(fields.index) ?? -1
    const filter = filters.get(index)
    switch (fields.type) {
      case "content_block_start": {
        const block = objectOf(fields.content_block)
        if (block.type !== "text" || filters.size >= maxOpen) return [event]
        const begun = jsonFenceFilter()
        filters.set(index, begun)
        const text = begun.push(textOf(block.text) ?? "")
        if (text === block.text) return [event]
        return [{ ...event, data: JSON.stringify({ ...fields, content_block: { ...block, text } }) }]
      }
      case "content_block_delta": {
        const text = textOf(objectOf(fields.delta).text)
        if (filter === undefined || text === undefined) return [event]
        const shown = filter.push(text)
        return shown === "" ? [] : [textDelta(index, shown)]
      }
      case "content_block_stop": {
        const left = filter?.end() ?? ""
        filters.delete(index)
        return left === "" ? [event] : [textDelta(index, left), event]
      }
      default:
        return [event]
    }
  }
  return (events) => events.flatMap(changed)
}
