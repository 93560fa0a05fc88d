/** How Claude answers: as one message, and as events, whatever platform frames them. */
import { argumentsOf, type Plan, planOf } from "../answer.ts"
import { type Answer, answered, type Stream } from "../faults.ts"
import type { Frame, Reply } from "../http.ts"
import { type JsonObject, objectOf } from "../json.ts"
import { digest, signThinking } from "../signature.ts"
import { fragments } from "../tokens.ts"
import { type ClaudeContext, type ClaudeRequest, readClaude } from "./request.ts"

/** What identifies a reply; `tag` is the platform's mark in identifiers (`vrtx`, `bdrk`). */
type Identity = Readonly<Record<"tag" | "model" | "seed", string>>

/** A content block, what it has not yet when it starts in a stream, and what follows. */
interface Block {
  readonly block: JsonObject
  readonly open?: JsonObject
  readonly deltas: ReadonlyArray<JsonObject>
}

const blocksOf = (plan: Plan, request: ClaudeRequest, { seed, tag }: Identity): ReadonlyArray<Block> => {
  const shown = request.showsThinking ? plan.thinking : []
  const thinking = shown.join("")
  const signature = signThinking(thinking, seed)
  const thought: Block = {
    block: { type: "thinking", thinking, signature },
    open: { thinking: "", signature: "" },
    deltas: [...shown.map((thinking) => ({ type: "thinking_delta", thinking })), { type: "signature_delta", signature }]
  }
  const secret = { type: "redacted_thinking", data: signThinking("redacted", seed) }
  const said: Block = {
    block: { type: "text", text: plan.text.join("") },
    open: { text: "" },
    deltas: plan.text.map((text) => ({ type: "text_delta", text }))
  }
  const calls = plan.calls.map(({ name, json }, index): Block => {
    const id = `toolu_${tag}_01${digest(seed, String(index)).slice(0, 22)}`
    const block = { type: "tool_use", id, name, input: argumentsOf(json) }
    // A call without arguments streams none: the empty fragment is all that comes.
    const pieces = ["", ...(json === "{}" ? [] : fragments(json))]
    const deltas = pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }))
    return { block, open: { input: {} }, deltas }
  })
  const redacted = request.turn.thinks && request.turn.directives.flags.has("redacted")
  return [
    ...(plan.thinking.length > 0 ? [thought] : []),
    ...(redacted ? [{ block: secret, deltas: [] }] : []),
    ...(plan.text.length > 0 ? [said] : []),
    ...calls
  ]
}

const reasons = { end: "end_turn", tool: "tool_use", length: "max_tokens", refusal: "refusal" }
const stop_details = { type: "refusal", category: "sandbox", explanation: "The sandbox was asked to refuse." }

/** A reply with this content. */
const replyOf = (plan: Plan, request: ClaudeRequest, identity: Identity, content: ReadonlyArray<JsonObject>) => {
  const { stop, outputTokens: output_tokens } = plan
  const { turn, inputTokens } = request
  const { tag, model, seed } = identity
  const cached = Math.min(turn.directives.cached, inputTokens)
  const read = { cache_creation_input_tokens: 0, cache_read_input_tokens: cached }
  return {
    id: `msg_${tag}_01${seed.slice(0, 22)}`,
    type: "message",
    role: "assistant",
    model,
    content,
    stop_reason: typeof stop === "object" ? "stop_sequence" : reasons[stop],
    stop_sequence: typeof stop === "object" ? stop.sequence : null,
    ...(stop === "refusal" && { stop_details }),
    usage: { input_tokens: inputTokens - cached, ...read, output_tokens }
  }
}

/** The unstreamed reply. */
export const messageOf = (plan: Plan, request: ClaudeRequest, identity: Identity): JsonObject =>
  replyOf(
    plan,
    request,
    identity,
    blocksOf(plan, request, identity).map(({ block }) => block)
  )

/** The events of the streamed reply, which say the same as the unstreamed one. */
export const eventsOf = (plan: Plan, request: ClaudeRequest, identity: Identity): ReadonlyArray<JsonObject> => {
  const { id, type, role, model, content, usage, ...stop } = replyOf(plan, request, identity, [])
  const begun = { content, stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } }
  const blocks = blocksOf(plan, request, identity).flatMap(({ block, open, deltas }, index) => [
    { type: "content_block_start", index, content_block: { ...block, ...open } },
    ...(index === 0 ? [{ type: "ping" }] : []),
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index }
  ])
  return [
    { type: "message_start", message: { id, type, role, model, ...begun } },
    ...blocks,
    { type: "message_delta", delta: stop, usage },
    { type: "message_stop" }
  ]
}

/** Whether an event comes at the model's pace. */
const isWord = ({ type, delta }: JsonObject): boolean =>
  type === "content_block_delta" && objectOf(delta).signature === undefined && objectOf(delta).partial_json !== ""

/** Prompt tokens and output tokens. */
export type Cost = Readonly<Record<"input" | "output", number>>

/** How a platform writes an answer: with what it cost, which some of them say. A count of tokens costs nothing. */
export interface ClaudeCloud extends Omit<Stream, "frames"> {
  readonly failed: Answer["failed"]
  readonly whole: (body: JsonObject, cost?: Cost) => Reply
  readonly streams: boolean
  readonly frame: (data: JsonObject, cost: Cost) => Frame["bytes"]
}

/** Answers a Messages request, or counts it. Throws a `Refusal` where the platform would refuse it. */
export const playClaude = (body: JsonObject, context: ClaudeContext, seed: string, cloud: ClaudeCloud): Reply => {
  const request = readClaude(body, context)
  const { turn, inputTokens } = request
  const { failed, whole, streams, frame } = cloud
  const vertex = context.platform === "vertex"
  if (context.counting) {
    const counted = vertex ? { input_tokens: inputTokens } : { inputTokens }
    return answered({ ...turn.directives, exception: undefined }, { failed, whole: () => whole(counted) })
  }
  const identity = { tag: vertex ? "vrtx" : "bdrk", model: context.model.id, seed }
  const plan = planOf(turn)
  const cost = { input: inputTokens, output: plan.outputTokens }
  const frameOf = (data: JsonObject): Frame => ({
    bytes: frame(data, cost),
    word: isWord(data),
    terminal: data.type === "message_stop"
  })
  return answered(turn.directives, {
    failed,
    stream: streams ? () => ({ ...cloud, frames: eventsOf(plan, request, identity).map(frameOf) }) : undefined,
    whole: () => whole(messageOf(plan, request, identity), cost)
  })
}
