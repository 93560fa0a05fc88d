/** How Claude's answer is written: as one message, and as events. */
import { argumentsOf, type Plan } from "../answer.ts"
import type { JsonObject } from "../json.ts"
import { digest, signThinking } from "../signature.ts"
import { fragments } from "../tokens.ts"
import type { ClaudeRequest } from "./request.ts"

/** What identifies a reply. `tag` is the platform's mark in identifiers (`vrtx`, `bdrk`). */
export interface ReplyIdentity {
  readonly tag: string
  readonly model: string
  /** A hash of the request: equal requests get equal replies. */
  readonly seed: string
}

/** An event of a Messages stream; `word` events come at the model's pace. */
export interface ClaudeEvent {
  readonly data: JsonObject & { readonly type: string }
  readonly word: boolean
}

type Block = { readonly type: string } & JsonObject

const blocksOf = (plan: Plan, request: ClaudeRequest, identity: ReplyIdentity): ReadonlyArray<Block> => {
  const { seed, tag } = identity
  const thinking = request.showsThinking ? plan.thinking.join("") : ""
  const redacted = request.turn.directives.flags.has("redacted") && request.turn.thinks
  return [
    ...(plan.thinking.length > 0 ? [{ type: "thinking", thinking, signature: signThinking(thinking, seed) }] : []),
    ...(redacted ? [{ type: "redacted_thinking", data: signThinking("redacted", seed) }] : []),
    ...(plan.text.length > 0 ? [{ type: "text", text: plan.text.join("") }] : []),
    ...plan.calls.map((call, index) => ({
      type: "tool_use",
      id: `toolu_${tag}_01${digest(seed, String(index)).slice(0, 22)}`,
      name: call.name,
      input: argumentsOf(call.json)
    }))
  ]
}

const stopOf = (plan: Plan): JsonObject => {
  switch (plan.stop) {
    case "end":
      return { stop_reason: "end_turn", stop_sequence: null }
    case "tool":
      return { stop_reason: "tool_use", stop_sequence: null }
    case "length":
      return { stop_reason: "max_tokens", stop_sequence: null }
    case "refusal":
      return {
        stop_reason: "refusal",
        stop_sequence: null,
        stop_details: { type: "refusal", category: "sandbox", explanation: "The sandbox was asked to refuse." }
      }
    default:
      return { stop_reason: "stop_sequence", stop_sequence: plan.stop.sequence }
  }
}

const inputUsage = (request: ClaudeRequest): JsonObject => {
  const cached = Math.min(request.turn.directives.cached, request.inputTokens)
  return {
    input_tokens: request.inputTokens - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached
  }
}

const shell = (identity: ReplyIdentity): JsonObject => ({
  id: `msg_${identity.tag}_01${identity.seed.slice(0, 22)}`,
  type: "message",
  role: "assistant",
  model: identity.model
})

/** The unstreamed reply. */
export const messageOf = (plan: Plan, request: ClaudeRequest, identity: ReplyIdentity): JsonObject => ({
  ...shell(identity),
  content: [...blocksOf(plan, request, identity)],
  ...stopOf(plan),
  usage: { ...inputUsage(request), output_tokens: plan.outputTokens }
})

/** The events of the streamed reply, which say the same as the unstreamed one. */
export const eventsOf = (plan: Plan, request: ClaudeRequest, identity: ReplyIdentity): ReadonlyArray<ClaudeEvent> => {
  const events: Array<ClaudeEvent> = []
  const push = (data: ClaudeEvent["data"], word = false) => events.push({ data, word })
  const delta = (index: number, value: JsonObject, word = false) =>
    push({ type: "content_block_delta", index, delta: value }, word)
  push({
    type: "message_start",
    message: {
      ...shell(identity),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...inputUsage(request), output_tokens: 1 }
    }
  })
  let calls = 0
  for (const [index, block] of blocksOf(plan, request, identity).entries()) {
    const start = (content_block: JsonObject) => {
      push({ type: "content_block_start", index, content_block })
      if (index === 0) push({ type: "ping" })
    }
    switch (block.type) {
      case "thinking":
        start({ type: "thinking", thinking: "", signature: "" })
        for (const piece of request.showsThinking ? plan.thinking : [])
          delta(index, { type: "thinking_delta", thinking: piece }, true)
        delta(index, { type: "signature_delta", signature: block.signature })
        break
      case "text":
        start({ type: "text", text: "" })
        for (const piece of plan.text) delta(index, { type: "text_delta", text: piece }, true)
        break
      case "tool_use": {
        start({ ...block, input: {} })
        delta(index, { type: "input_json_delta", partial_json: "" })
        const json = plan.calls[calls++]?.json ?? "{}"
        // A call without arguments streams none: the empty fragment is all that comes.
        for (const piece of json === "{}" ? [] : fragments(json))
          delta(index, { type: "input_json_delta", partial_json: piece }, true)
        break
      }
      default:
        start(block)
    }
    push({ type: "content_block_stop", index })
  }
  push({
    type: "message_delta",
    delta: stopOf(plan),
    usage: { ...inputUsage(request), output_tokens: plan.outputTokens }
  })
  push({ type: "message_stop" })
  return events
}
