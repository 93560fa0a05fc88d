/** How Claude answers: as one message, and as events, whatever platform frames them. */
import { argumentsOf, type Plan, planOf } from "../answer.ts"
import { type Answer, answered, type Framing } from "../faults.ts"
import type { Frame, Reply } from "../http.ts"
import { type JsonObject, objectOf } from "../json.ts"
import { digest, signThinking } from "../signature.ts"
import { fragments } from "../tokens.ts"
import { type ClaudeContext, type ClaudeRequest, readClaude } from "./request.ts"

/** What identifies a reply. `tag` is the platform's mark in identifiers (`vrtx`, `bdrk`). */
interface ReplyIdentity {
  readonly tag: string
  readonly model: string
  /** A hash of the request: equal requests get equal replies. */
  readonly seed: string
}

/** A content block, what it has not yet when it starts in a stream, and what follows. */
interface Block {
  readonly block: JsonObject
  readonly open?: JsonObject
  readonly deltas: ReadonlyArray<JsonObject>
}

const blocksOf = (plan: Plan, request: ClaudeRequest, { seed, tag }: ReplyIdentity): ReadonlyArray<Block> => {
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

const stopOf = ({ stop }: Plan): JsonObject => {
  if (typeof stop === "object") return { stop_reason: "stop_sequence", stop_sequence: stop.sequence }
  return { stop_reason: reasons[stop], stop_sequence: null, ...(stop === "refusal" && { stop_details }) }
}

const usageOf = ({ turn, inputTokens }: ClaudeRequest, output_tokens: number): JsonObject => {
  const cached = Math.min(turn.directives.cached, inputTokens)
  const read = { cache_creation_input_tokens: 0, cache_read_input_tokens: cached }
  return { input_tokens: inputTokens - cached, ...read, output_tokens }
}

const shell = ({ tag, model, seed }: ReplyIdentity): JsonObject => ({
  id: `msg_${tag}_01${seed.slice(0, 22)}`,
  type: "message",
  role: "assistant",
  model
})

/** The unstreamed reply. */
export const messageOf = (plan: Plan, request: ClaudeRequest, identity: ReplyIdentity): JsonObject => ({
  ...shell(identity),
  content: blocksOf(plan, request, identity).map(({ block }) => block),
  ...stopOf(plan),
  usage: usageOf(request, plan.outputTokens)
})

/** The events of the streamed reply, which say the same as the unstreamed one. */
export const eventsOf = (plan: Plan, request: ClaudeRequest, identity: ReplyIdentity): ReadonlyArray<JsonObject> => {
  const begun = { content: [], stop_reason: null, stop_sequence: null, usage: usageOf(request, 1) }
  const content = blocksOf(plan, request, identity).flatMap(({ block, open, deltas }, index) => [
    { type: "content_block_start", index, content_block: { ...block, ...open } },
    ...(index === 0 ? [{ type: "ping" }] : []),
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index }
  ])
  return [
    { type: "message_start", message: { ...shell(identity), ...begun } },
    ...content,
    { type: "message_delta", delta: stopOf(plan), usage: usageOf(request, plan.outputTokens) },
    { type: "message_stop" }
  ]
}

/** Whether an event comes at the model's pace. */
const isWord = ({ type, delta }: JsonObject): boolean =>
  type === "content_block_delta" && objectOf(delta).signature === undefined && objectOf(delta).partial_json !== ""

/** How a platform writes an answer: with what it cost, which some of them say. A count of tokens costs nothing. */
export interface ClaudeCloud {
  readonly failed: Answer["failed"]
  readonly whole: (body: JsonObject, cost?: Cost) => Reply
  /** Absent where the caller wants the whole. */
  readonly stream: (Framing & { readonly frame: (data: JsonObject, cost: Cost) => Frame["bytes"] }) | undefined
}

/** Prompt tokens and output tokens. */
type Cost = Readonly<Record<"input" | "output", number>>

/** Answers a Messages request, or counts it. Throws a `Refusal` where the platform would refuse it. */
export const playClaude = (body: JsonObject, context: ClaudeContext, seed: string, cloud: ClaudeCloud): Reply => {
  const request = readClaude(body, context)
  const { turn, inputTokens } = request
  const { failed, whole, stream } = cloud
  const vertex = context.platform === "vertex"
  if (context.counting) {
    const counted = vertex ? { input_tokens: inputTokens } : { inputTokens }
    return answered({ ...turn.directives, exception: undefined }, { failed, whole: () => whole(counted) })
  }
  const identity = { tag: vertex ? "vrtx" : "bdrk", model: context.model.base, seed }
  const plan = planOf(turn)
  const cost = { input: inputTokens, output: plan.outputTokens }
  const frameOf = (framing: NonNullable<typeof stream>) => (data: JsonObject) => ({
    bytes: framing.frame(data, cost),
    word: isWord(data),
    terminal: data.type === "message_stop"
  })
  return answered(turn.directives, {
    failed,
    stream: stream && (() => ({ ...stream, frames: eventsOf(plan, request, identity).map(frameOf(stream)) })),
    whole: () => whole(messageOf(plan, request, identity), cost)
  })
}
