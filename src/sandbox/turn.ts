/** The vendor-neutral form of a request: messages, tools and options. */
import { readDirectives } from "./directives.ts"
import { isObject, type Json, type JsonObject, objectOf, printed, textOf } from "./json.ts"
import { jsonAsked, schemaIn, wantsFence } from "./jsonAsked.ts"
import { countTokens } from "./tokens.ts"

export interface Tool {
  readonly name: string
  readonly description: string
  /** The schema of the arguments; without one a tool takes any text. */
  readonly schema: JsonObject | undefined
}

interface Options {
  readonly model: string
  readonly instructions: string
  readonly tools: ReadonlyArray<Tool>
  readonly choice: "auto" | "none" | "required" | { readonly name: string }
  /** Whether the model goes on with an assistant message that comes last. */
  readonly continues?: boolean
  /** A JSON Schema for the text, or any JSON object. */
  readonly format: JsonObject | "json" | undefined
  readonly thinks: boolean
  /** Output tokens, thinking included. */
  readonly limit: number | undefined
  readonly stops: ReadonlyArray<string>
}

export interface Part {
  /** Neither read nor counted. */
  readonly thought?: true
  /** Whether a thought stood in this place of its reply. */
  readonly stoodAt?: (place: string) => boolean
  readonly text?: string
  /** A file as a phrase, and what it costs. */
  readonly media?: string
  readonly tokens?: number
  readonly call?: { readonly id: string; readonly name: string; readonly json: string }
  /** The `id` is the call's. */
  readonly result?: { readonly id: string; readonly content: Json | undefined }
}

/** A message of a conversation; tool results are the user's. */
export interface Message {
  readonly role: "user" | "assistant" | "system"
  readonly parts: ReadonlyArray<Part>
}

export const textIn = (parts: ReadonlyArray<Part>): string =>
  parts.flatMap(({ text }) => (text === undefined || text === "" ? [] : [text])).join("\n")

const resultText = (content: Json | undefined): string => {
  if (content === undefined || content === null) return ""
  if (typeof content === "string") return content
  if (Array.isArray(content)) return content.map(partText).join(" ")
  const { output, result = output } = objectOf(content)
  return result === undefined ? JSON.stringify(content) : resultText(result)
}
const partText = (part: Json): string =>
  isObject(part) ? (textOf(part.text) ?? `[${printed(part.type ?? "data")}]`) : resultText(part)

const costOf = ({ text = "", tokens = 0, call, result }: Part): number =>
  countTokens(text) +
  tokens +
  (call === undefined ? 0 : 10 + countTokens(call.name) + countTokens(call.json)) +
  (result === undefined ? 0 : 10 + countTokens(resultText(result.content)))

/** Agents put reminders to the model into a user's message and into tool results. */
const withoutReminders = (text: string): string => {
  const [first = "", ...rest] = text.split("<system-reminder>")
  return first + rest.map((part) => part.split("</system-reminder>").slice(1).join("")).join("")
}

/** The last turn of a conversation, and its prompt tokens, of which `cached` come from a cache. */
export const readTurn = (messages: ReadonlyArray<Message>, options: Options) => {
  const textsOf = (side: Message["role"]) =>
    messages.flatMap(({ role, parts }) => (role === side && textIn(parts) !== "" ? [textIn(parts)] : []))
  const users = textsOf("user")
  // A system message may come last.
  const said = messages.slice(0, messages.findLastIndex(({ role }) => role !== "system") + 1)
  const last = said.length - 1
  // Each result may be a message of its own.
  const before = said.findLastIndex(({ role, parts }) => role !== "user" || parts.some(({ result }) => !result))
  const ending = said[last]?.role === "user" ? said.slice(Math.min(before + 1, last)) : []
  const parts = ending.flatMap(({ parts }) => parts)
  const names = new Map(messages.flatMap(({ parts }) => parts.map(({ call }) => [call?.id, call?.name])))
  const results = parts.flatMap(({ result }) => result ?? [])
  const directives = readDirectives(textIn(parts))
  const instructions = [options.instructions, ...textsOf("system")].filter((text) => text !== "").join("\n")
  const prompt = withoutReminders(readDirectives(users.at(-1) ?? "").rest)
  const asked = [instructions, prompt].map(jsonAsked)
  const continued = options.continues === true && said[last]?.role === "assistant" ? textIn(said[last].parts) : ""
  const begun = continued.slice(continued.search(/```json|(?<=^|\n)\{|$/))
  const { format = asked.find((one) => one !== undefined) ?? (begun === "" ? undefined : "json") } = options
  const turn = {
    ...options,
    /** The text of the last user message, without directives and reminders. */
    prompt,
    instructions,
    format: format === "json" ? (asked.find(isObject) ?? schemaIn(prompt) ?? schemaIn(instructions) ?? format) : format,
    fenced: options.format === undefined && begun[0] !== "{" && wantsFence(`${instructions}\n${prompt}\n${begun}`),
    /** JSON that was begun for the model to go on with. */
    begun,
    turns: users.length,
    /** What the model said before. */
    said: textsOf("assistant").at(-1) ?? "",
    /** The images and documents of the last user message, each as a phrase. */
    media: parts.flatMap(({ media }) => media ?? []),
    results: results.map(({ id, content }) => ({
      name: names.get(id) ?? "",
      content: withoutReminders(resultText(content))
    })),
    directives
  }
  const costs = [
    3 + countTokens(options.instructions),
    ...messages.flatMap(({ parts }) => [4, ...parts.map(costOf)]),
    ...options.tools.map((tool) => countTokens(JSON.stringify([tool.name, tool.description, tool.schema ?? {}])))
  ]
  const promptTokens = costs.reduce((sum, cost) => sum + cost)
  return { turn, promptTokens, cached: Math.min(directives.cached, promptTokens) }
}

export type Turn = ReturnType<typeof readTurn>["turn"]
