/** A reply of Claude's Messages API, whole and as events, before a platform frames it. */
import { argumentsOf, opened, type Plan } from "../answer.ts"
import type { JsonObject } from "../json.ts"
import { digest, signThinking } from "../signature.ts"
import { fragments, words } from "../tokens.ts"
import type { Turn } from "../turn.ts"
import { type Kind, placesOf } from "./conversation.ts"

/** A checked request, and what identifies its reply; `tag` marks the platform in identifiers (`vrtx`, `bdrk`). */
interface CheckedRequest extends Readonly<Record<"tag" | "model" | "seed", string>> {
  readonly turn: Turn
  readonly inputTokens: number
  readonly showsThinking: boolean
}

/** A block of a reply. Its place among the others signs thinking. */
interface Planned {
  readonly kind: Kind
  readonly write: (place: string | undefined, at: number) => { block: JsonObject; deltas: ReadonlyArray<JsonObject> }
}

const piecesOf = (thinking: string, count: number): ReadonlyArray<string> => {
  const all = words(thinking)
  const size = Math.ceil(all.length / count)
  return Array.from({ length: count }, (_, at) => all.slice(at * size, (at + 1) * size).join(""))
}

/** Thinking comes first, and with `interleaved` also before each call. */
const blocksOf = ({ thinking, text, calls }: Plan, { turn, showsThinking, seed, tag }: CheckedRequest) => {
  const { flags } = turn.directives
  const between = flags.has("interleaved")
  const thoughts = thinking === "" ? [] : piecesOf(thinking, between ? 1 + calls.length : 1)
  const thought = (text: string): Planned => ({
    kind: "thinking",
    write: (place, at) => {
      const thinking = showsThinking ? text : ""
      const signature = signThinking(thinking, at === 0 ? seed : digest(seed, String(at)), place)
      const deltas = words(thinking).map((thinking) => ({ type: "thinking_delta", thinking }))
      const block = { type: "thinking", thinking, signature }
      return { block, deltas: [...deltas, { type: "signature_delta", signature }] }
    }
  })
  const redacted: Planned = {
    kind: "thinking",
    write: (place) => ({
      block: { type: "redacted_thinking", data: signThinking("redacted", seed, place) },
      deltas: []
    })
  }
  const spoken: Planned = {
    kind: "text",
    write: () => ({ block: { type: "text", text }, deltas: words(text).map((text) => ({ type: "text_delta", text })) })
  }
  const called = ({ name, json }: Plan["calls"][number], index: number): Planned => {
    const id = `toolu_${tag}_01${digest(seed, String(index)).slice(0, 22)}`
    // A call without arguments streams only the empty fragment.
    const pieces = ["", ...(json === "{}" ? [] : fragments(json))]
    const deltas = pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }))
    const [, toolset_name] =
      /^(\w+)_toolset_/.exec(turn.tools.find((tool) => tool.name === name)?.description ?? "") ?? []
    const block = { type: "tool_use", id, name, input: argumentsOf(json), ...(toolset_name && { toolset_name }) }
    return { kind: "call", write: () => ({ block, deltas }) }
  }
  const hidden = turn.thinks && flags.has("redacted") ? [redacted] : []
  const said = text === "" ? [] : [spoken]
  const blocks = [
    ...thoughts.slice(0, 1).map(thought),
    ...(between ? [...said, ...hidden] : [...hidden, ...said]),
    ...calls.flatMap((call, at) => [...thoughts.slice(at + 1, at + 2).map(thought), called(call, at)])
  ]
  const places = placesOf(blocks.map(({ kind }) => kind))
  return blocks.map(({ write }, at) => write(places[at], at))
}

/** The fields of a block before its deltas. */
const opening: JsonObject = { thinking: "", signature: "", text: "", input: {} }

const ends = { end: "end_turn", tool: "tool_use", length: "max_tokens", refusal: "refusal", sequence: "stop_sequence" }
const stop_details = { type: "refusal", category: null, explanation: "The sandbox was asked to refuse." }

export const replyOf = (plan: Plan, asked: CheckedRequest) => {
  const { stop, sequence, outputTokens: output_tokens } = plan
  const { turn, inputTokens, tag, model, seed } = asked
  const blocks = blocksOf(plan, asked)
  const cached = Math.min(turn.directives.cached, inputTokens)
  const read = { cache_creation_input_tokens: 0, cache_read_input_tokens: cached }
  const usage = { input_tokens: inputTokens - cached, ...read, output_tokens }
  const shell = { id: `msg_${tag}_01${seed.slice(0, 22)}`, type: "message", role: "assistant", model }
  const stop_sequence = (stop === "sequence" && sequence) || null
  const ended = { stop_reason: ends[stop], stop_sequence, ...(stop === "refusal" && { stop_details }) }
  const begun = { content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } }
  return {
    message: { ...shell, content: blocks.map(({ block }) => block), ...ended, usage },
    events: (): ReadonlyArray<JsonObject> => [
      { type: "message_start", message: { ...shell, ...begun } },
      ...blocks.flatMap(({ block, deltas }, index) => [
        { type: "content_block_start", index, content_block: opened(block, opening) },
        ...(index === 0 ? [{ type: "ping" }] : []),
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index }
      ]),
      { type: "message_delta", delta: ended, usage },
      { type: "message_stop" }
    ]
  }
}
