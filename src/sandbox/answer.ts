/** The answer of the simulated model to a turn: thinking, text, tool calls, and the stop reason. */
import { Record } from "effect"
import type { Directives } from "./directives.ts"
import { type JsonObject, objectOf, parseObject } from "./json.ts"
import { exampleIn, withoutSchemas } from "./jsonAsked.ts"
import { keysIn } from "./jsonKeys.ts"
import { schemaSample } from "./schemaSample.ts"
import { beginning, countTokens, words } from "./tokens.ts"
import type { Tool, Turn } from "./turn.ts"

const COMMON =
  " about an and any anything are as at be been being by can could do does doing for from get getting give given giving have " +
  "having here how in into is it its make making me more my need not of on or other please say saying should show some such " +
  "take taking tell than that the their them then there these they thing things this those to us use used uses using want " +
  "was were what when where which who why will with would you your "

/** Characters of a prompt that are searched for its topic. */
const READ = 64 * 1024

/** The ending of a word of which three letters remain, so that "ping" keeps it. */
const ENDING = /(?<=\p{L}{3})(?:ing|ed|(?<=[sxz]|ch|sh)es|(?<!s)s)$/u

/** Words with a topic, without their endings, with their lengths. */
const termsOf = (text: string): ReadonlyMap<string, number> => {
  const apart = text.slice(0, READ).replace(/([a-z])([A-Z])/g, "$1 $2")
  const all = (apart.match(/\p{L}+/gu) ?? []).map((word) => word.toLowerCase())
  const telling = all.filter((word) => word.length > 1 && !COMMON.includes(` ${word} `))
  return new Map(telling.map((word) => [word.replace(ENDING, ""), word.length]))
}

/** The words that two texts share: one of four letters or more counts twice. */
const shared = (a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number =>
  [...a].reduce((sum, [term, length]) => sum + (b.has(term) ? (length >= 4 ? 2 : 1) : 0), 0)

/** The tool that shares the most with the prompt; its name counts double. */
export const fittingTool = (tools: ReadonlyArray<Tool>, prompt: string): Tool | undefined => {
  const asked = termsOf(prompt)
  const score = ({ name, description }: Tool) => 2 * shared(termsOf(name), asked) + shared(termsOf(description), asked)
  const scored = tools.map((tool) => ({ tool, score: score(tool) })).sort((a, b) => b.score - a.score)
  return scored.find(({ score }) => score >= 2)?.tool
}

/** Agents that have a conversation summed up send their tools along, and ask for words. */
const forbidsTools = (prompt: string): boolean =>
  /\b(?:do not|don['’]t|without) (?:call|use|calling|using) (?:any |a )?tools?\b/i.test(prompt)

const toolFor = ({ directives, tools, choice, prompt, results, said }: Turn): Tool | undefined => {
  if (typeof choice === "object") return tools.find((tool) => tool.name === choice.name)
  if (choice === "required") {
    const fitting = fittingTool(tools, prompt) ?? tools[0]
    // Agents that always demand a call add a tool that ends the turn, behind the others. Some (smolagents) keep calls and results as text.
    const isCalled = results.length > 0 || (fitting !== undefined && said.includes(`'${fitting.name}'`))
    return isCalled ? tools.at(-1) : fitting
  }
  // After a tool result the model answers rather than calls again.
  const speaks = directives.text !== undefined || directives.events !== undefined || results.length > 0
  return choice === "none" || speaks || forbidsTools(prompt) ? undefined : fittingTool(tools, prompt)
}

const callsOf = (turn: Turn): Directives["tools"] => {
  if (turn.directives.tools.length > 0) return turn.directives.tools
  const tool = toolFor(turn)
  if (tool === undefined) return []
  const { name, schema } = tool
  const json = schema && JSON.stringify(objectOf(schemaSample(schema, turn.prompt)))
  return [{ name, json: json ?? turn.prompt }]
}

const excerpt = (text: string, length: number): string => {
  const line = text.trimStart().slice(0, READ).replace(/\s+/g, " ").trim()
  return line.length > length ? `${beginning(line, length - 1).trimEnd()}…` : line
}

const LEAD =
  /^(?:please\s+)?(?:can you |could you )?(?:tell me |explain |describe |what (?:is|are) |who (?:is|are) |write )(?:about )?/i

/** The topic of a prompt: without a known lead, else in quotation marks. */
const topicOf = (prompt: string): string => {
  const text = excerpt(prompt, 160).replace(/[.?!\s]+$/, "")
  if (LEAD.test(text)) return text.replace(LEAD, "")
  return text === "" ? "" : `"${text}"`
}

const prose = ({ directives, prompt, results, media, instructions, turns, model }: Turn): string => {
  const unusable = excerpt(directives.unusable.slice(0, 10).join(", "), 200)
  const topic = topicOf(prompt)
  const found = topic === "" ? "That is what it found." : `That answers your question about ${topic}.`
  const sentences = [
    unusable !== "" && `I ignore ${unusable} in a directive: docs/operation.md lists what I understand.`,
    ...results.map(({ name, content }) => `The tool ${name} answered: ${excerpt(content, 400) || "nothing"}.`),
    results.length > 0 ? found : topic !== "" && `You asked about ${topic}.`,
    media.length > 0 && `I see ${media.join(" and ")}.`,
    instructions !== "" && `I follow your instructions: ${excerpt(instructions, 120)}`,
    turns > 1 && `This is turn ${turns} of our conversation.`,
    `I am the sandbox's stand-in for ${model}, so this is a reply in the right shape rather than one that knows.`
  ]
  return sentences.filter((sentence) => sentence !== false).join(" ")
}

/** A number in letters (0 is `a`, 26 is `aa`), so that a numbered word stays one token. */
const letters = (index: number): string =>
  (index >= 26 ? letters(Math.floor(index / 26) - 1) : "") + String.fromCharCode(97 + (index % 26))

/** JSON without a schema is like the example that the prompt or the instructions show, or has the keys that they name, the first of which has the answer. */
const jsonOf = (turn: Turn): JsonObject => {
  const said = [turn.prompt, turn.instructions]
  const keys = said.map(keysIn).find((keys) => keys.length > 0) ?? ["answer"]
  const named = { type: "object", required: keys, additionalProperties: { type: "string" } }
  const sample = objectOf(schemaSample(said.map(exampleIn).find((one) => one !== undefined) ?? named, turn.prompt))
  const [first = ""] = Object.keys(sample)
  return typeof sample[first] === "string" ? { ...sample, [first]: prose(turn) } : sample
}

const textOf = (turn: Turn): string => {
  const { directives, format } = turn
  if (directives.text !== undefined) return directives.text
  if (directives.events !== undefined)
    return Array.from({ length: directives.events }, (_, index) => `word${letters(index)} `).join("")
  if (format === undefined) return prose(turn)
  const json = JSON.stringify(
    format === "json" ? jsonOf(turn) : schemaSample(format, withoutSchemas(turn.prompt.slice(0, READ)))
  )
  const text = turn.fenced ? `\`\`\`json\n${json}\n\`\`\`` : json
  return text.startsWith(turn.begun) ? text.slice(turn.begun.length) : text
}

const thoughtsOf = ({ prompt, results }: Turn): string => {
  const found = "A tool has answered, so I can say what it found."
  const next = results.length > 0 ? found : "I will answer in a few plain sentences."
  return `The question is about ${topicOf(prompt) || "what was sent"}. ${next}`
}

const tokensOf = (texts: ReadonlyArray<string>): number => texts.reduce((sum, text) => sum + countTokens(text), 0)

/** Characters that are compared with all stop sequences together: comparing each with a long text would block other requests. */
const COMPARED = 64 * 1024 * 1024

const stopIn = (text: string, stops: ReadonlyArray<string>): string | undefined => {
  const looked = text.slice(0, COMPARED / stops.length)
  const found = stops.filter((stop) => stop !== "").map((stop) => ({ stop, at: looked.indexOf(stop) }))
  return found.filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at)[0]?.stop
}

/** Plans the answer to a turn. Deterministic. */
export const planOf = (turn: Turn) => {
  const { directives, thinks, stops } = turn
  // Where the cloud has no prompt filter, the model refuses.
  const refuses = directives.flags.has("refuse") || directives.flags.has("filter-prompt")
  const calls = refuses ? [] : callsOf(turn)
  const text = refuses || (calls.length > 0 && directives.text === undefined) ? "" : textOf(turn)
  const sequence = stopIn(text, stops)
  const done = sequence === undefined ? "end" : "sequence"
  const thoughts = thinks ? words(thoughtsOf(turn)) : []
  const pieces = words(sequence === undefined ? text : text.slice(0, text.indexOf(sequence)))
  const total = tokensOf([...thoughts, ...pieces, ...calls.flatMap(({ name, json }) => [name, json])])

  const half = directives.flags.has("length") ? total >> 1 : Number.MAX_SAFE_INTEGER
  const limit = Math.min(turn.limit ?? Number.MAX_SAFE_INTEGER, half)
  let left = limit
  // Nothing follows a piece that does not fit.
  const fits = (...texts: ReadonlyArray<string>): boolean => {
    if (left >= 0) left -= tokensOf(texts)
    return left >= 0
  }
  const thinking = thoughts.filter((piece) => fits(piece)).join("")
  return {
    thinking,
    text: pieces.filter((piece) => fits(piece)).join(""),
    /** `json` is complete unless the token limit cut it. */
    calls: calls.flatMap(({ name, json }) =>
      left < 0 ? [] : [{ name, json: fits(name, json) ? json : beginning(json, json.length >> 1) }]
    ),
    stop: refuses ? "refusal" : total > limit ? "length" : calls.length > 0 ? "tool" : done,
    sequence,
    thinkingTokens: countTokens(thinking),
    outputTokens: Math.min(total, limit)
  } as const
}

export type Plan = ReturnType<typeof planOf>

/** The arguments of a call; an empty object when the token limit cut them. */
export const argumentsOf = (json: string): JsonObject => parseObject(json) ?? {}

/** A block or item as a stream begins it; `opening` has the fields before their pieces. */
export const opened = (whole: JsonObject, opening: JsonObject): JsonObject =>
  Record.map(whole, (value, name) => opening[name] ?? value)
