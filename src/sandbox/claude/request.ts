/** What a Messages request asks, and what its prompt costs, once it is checked. */
import type { Turn } from "../answer.ts"
import { noDirectives, readDirectives } from "../directives.ts"
import { type JsonObject, listOf, objectOf, objectsOf, stringOf } from "../json.ts"
import { describe, mediaTokens, resultText } from "../media.ts"
import { jsonInstruction } from "../openai/jsonInstruction.ts"
import { countTokens } from "../tokens.ts"
import type { ClaudeContext } from "./context.ts"
import { blocksOf, checkMessages } from "./messages.ts"
import { checkParameters } from "./parameters.ts"

/** A checked request: what it asks, and what its prompt costs. */
export interface ClaudeRequest {
  readonly turn: Turn
  readonly inputTokens: number
  readonly showsThinking: boolean
}

const THINKING_OVERHEAD = 29

const blockTokens = (block: JsonObject): number => {
  const source = objectOf(block.source)
  switch (block.type) {
    case "text":
      return countTokens(stringOf(block.text))
    case "image":
    case "document":
      return source.type === "base64"
        ? mediaTokens(stringOf(source.data).length * 0.75)
        : countTokens(stringOf(source.data))
    case "tool_use":
      return 10 + countTokens(stringOf(block.name)) + countTokens(JSON.stringify(block.input))
    case "tool_result":
      return (
        10 +
        (typeof block.content === "string"
          ? countTokens(block.content)
          : objectsOf(block.content).reduce((sum, inner) => sum + blockTokens(inner), 0))
      )
    default:
      return 0
  }
}

const mediaOf = (block: JsonObject): ReadonlyArray<string> => {
  if (block.type !== "image" && block.type !== "document") return []
  const source = objectOf(block.source)
  if (source.type !== "base64") return ["a text document"]
  return [describe(stringOf(source.media_type), Buffer.byteLength(stringOf(source.data), "base64"))]
}

/** Checks a Messages request as the platform does, and reads what it asks. Throws a `Refusal`. */
export const readClaude = (body: JsonObject, context: ClaudeContext): ClaudeRequest => {
  const { platform, model } = context
  const { tools, choice, thinking } = checkParameters(body, context)
  const messages = objectsOf(body.messages)
  checkMessages(messages, {
    thinking,
    prefill: thinking === "off" && model.version < 4.6,
    strict: body.anthropic_version === "2026-10-21",
    systemTurns: platform === "vertex" && model.version >= 4.8
  })
  const instructions =
    stringOf(body.system) ||
    objectsOf(body.system)
      .map(({ text }) => stringOf(text))
      .join("\n")
  const format = objectOf(body.output_config).format
  const users = messages.filter((message) => message.role === "user")
  const last = messages.at(-1)
  const ending = last?.role === "user" ? blocksOf(last) : []
  const results = ending.filter((block) => block.type === "tool_result")
  const texts = (message: JsonObject) =>
    blocksOf(message)
      .filter((block) => block.type === "text")
      .map((block) => stringOf(block.text))
      .join("\n")
  const spoken = users.findLast((message) => texts(message) !== "")
  const directives =
    results.length === 0 && last !== undefined && last === users.at(-1) ? readDirectives(texts(last)) : noDirectives
  const names = new Map(
    messages
      .flatMap(blocksOf)
      .filter((block) => block.type === "tool_use")
      .map((block) => [block.id, stringOf(block.name)])
  )

  const forced = choice !== "auto" && choice !== "none"
  const overhead = tools.length === 0 || choice === "none" ? 0 : model.toolOverhead[forced ? 1 : 0]
  const texted =
    countTokens(instructions) +
    messages.reduce(
      (sum, message) => sum + 4 + blocksOf(message).reduce((part, block) => part + blockTokens(block), 0),
      3
    ) +
    objectsOf(body.tools).reduce(
      (sum, tool) => sum + countTokens(JSON.stringify([tool.name, tool.description, tool.input_schema])),
      0
    )
  return {
    turn: {
      model: model.base,
      prompt: spoken === undefined ? "" : readDirectives(texts(spoken)).rest,
      instructions,
      turns: users.filter((message) => texts(message) !== "").length,
      media: ending.flatMap(mediaOf),
      results: results.map((block) => ({
        name: names.get(block.tool_use_id ?? "") ?? "",
        content: resultText(block.content)
      })),
      tools,
      choice,
      format: format === undefined ? jsonInstruction(instructions) : objectOf(objectOf(format).schema),
      thinks: thinking !== "off",
      limit: typeof body.max_tokens === "number" ? body.max_tokens : undefined,
      stops: listOf(body.stop_sequences).filter((stop) => typeof stop === "string"),
      directives
    },
    inputTokens: Math.ceil(texted * model.tokenFactor) + overhead + (thinking === "budgeted" ? THINKING_OVERHEAD : 0),
    showsThinking:
      (objectOf(body.thinking).display ?? (model.hidesThinking ? "omitted" : "summarized")) === "summarized"
  }
}
