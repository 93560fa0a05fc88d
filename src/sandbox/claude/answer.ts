/** How Claude answers: as one message, and as events, whatever platform frames them. */
import { argumentsOf, opened, type Plan, planOf } from "../answer.ts"
import type { Answer, Stream } from "../faults.ts"
import type { Frame, Reply } from "../http.ts"
import { type JsonObject, objectOf } from "../json.ts"
import { digest, signThinking } from "../signature.ts"
import { fragments, words } from "../tokens.ts"
import { type ClaudeContext, type ClaudeRequest, readClaude } from "./request.ts"

/** What identifies a reply; `tag` is the platform's mark in identifiers (`vrtx`, `bdrk`). */
type Identity = Readonly<Record<"tag" | "model" | "seed", string>>

/** The content blocks, and the deltas that bring each in a stream. */
const blocksOf = (plan: Plan, { turn, showsThinking }: ClaudeRequest, { seed, tag }: Identity) => {
  const thinking = showsThinking ? plan.thinking : ""
  const signature = signThinking(thinking, seed)
  const thoughts = words(thinking).map((thinking) => ({ type: "thinking_delta", thinking }))
  const redacted = turn.thinks && turn.directives.flags.has("redacted")
  return [
    plan.thinking !== "" && {
      block: { type: "thinking", thinking, signature },
      deltas: [...thoughts, { type: "signature_delta", signature }]
    },
    redacted && { block: { type: "redacted_thinking", data: signThinking("redacted", seed) }, deltas: [] },
    plan.text !== "" && {
      block: { type: "text", text: plan.text },
      deltas: words(plan.text).map((text) => ({ type: "text_delta", text }))
    },
    ...plan.calls.map(({ name, json }, index) => {
      const id = `toolu_${tag}_01${digest(seed, String(index)).slice(0, 22)}`
      // A call without arguments streams none: the empty fragment is all that comes.
      const pieces = ["", ...(json === "{}" ? [] : fragments(json))]
      const deltas = pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }))
      return { block: { type: "tool_use", id, name, input: argumentsOf(json) }, deltas }
    })
  ].filter((block) => block !== false)
}

/** What the fields of a block are before their deltas come. */
const opening: JsonObject = { thinking: "", signature: "", text: "", input: {} }

const reasons = {
  end: "end_turn",
  tool: "tool_use",
  length: "max_tokens",
  refusal: "refusal",
  sequence: "stop_sequence"
}
const stop_details = { type: "refusal", category: "sandbox", explanation: "The sandbox was asked to refuse." }

/** The whole message, and the events that say the same. */
export const replyOf = (plan: Plan, request: ClaudeRequest, identity: Identity) => {
  const { stop, sequence, outputTokens: output_tokens } = plan
  const { tag, model, seed } = identity
  const blocks = blocksOf(plan, request, identity)
  const cached = Math.min(request.turn.directives.cached, request.inputTokens)
  const read = { cache_creation_input_tokens: 0, cache_read_input_tokens: cached }
  const usage = { input_tokens: request.inputTokens - cached, ...read, output_tokens }
  const shell = { id: `msg_${tag}_01${seed.slice(0, 22)}`, type: "message", role: "assistant", model }
  const stop_sequence = (stop === "sequence" && sequence) || null
  const ended = { stop_reason: reasons[stop], stop_sequence, ...(stop === "refusal" && { stop_details }) }
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

/** Whether an event comes at the model's pace. */
const isWord = ({ type, delta }: JsonObject): boolean =>
  type === "content_block_delta" && objectOf(delta).signature === undefined && objectOf(delta).partial_json !== ""

export type Cost = Readonly<Record<"input" | "output", number>>

/** How a platform writes an answer: with what it cost, which some of them say. A count of tokens costs nothing. */
export interface Framing extends Omit<Stream, "frames"> {
  readonly whole: (body: JsonObject, cost?: Cost) => Reply
  readonly streams: boolean
  readonly frame: (data: JsonObject, cost: Cost) => Frame["bytes"]
}

/** Answers a Messages request, or counts it. Throws a `Refusal` where the platform would refuse it. */
export const playClaude = (body: JsonObject, context: ClaudeContext, seed: string, framing: Framing): Answer => {
  const request = readClaude(body, context)
  const { turn, inputTokens } = request
  const { whole, streams, frame, ...stream } = framing
  const vertex = context.platform === "vertex"
  if (context.counting) {
    const counted = vertex ? { input_tokens: inputTokens } : { inputTokens }
    return { directives: { ...turn.directives, exception: undefined }, whole: () => whole(counted) }
  }
  const plan = planOf(turn)
  const { message, events } = replyOf(plan, request, { tag: vertex ? "vrtx" : "bdrk", model: context.model.id, seed })
  const cost = { input: inputTokens, output: plan.outputTokens }
  const frameOf = (data: JsonObject): Frame => ({
    bytes: frame(data, cost),
    word: isWord(data),
    terminal: data.type === "message_stop"
  })
  return {
    directives: turn.directives,
    whole: () => whole(message, cost),
    stream: streams && (() => ({ ...stream, frames: events().map(frameOf) }))
  }
}
