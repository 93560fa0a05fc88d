/** The messages stream: forwarded as it comes, but for the few events that the gateway must read (spec: Messages stream). */
import { isObject, type Json, type JsonObject, numberOf, objectOf, textOf } from "../dialect/json.ts"
import { makeAccumulator } from "../governance/accumulate.ts"
import { governanceOf } from "../governance/flags.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Event } from "../provider/framing/Event.ts"
import { cutError, malformed, statusError } from "../provider/refusal.ts"
import { errorBody } from "./errorReply.ts"
import type { Observation } from "./Observation.ts"
import type { Rewriter, Rewritten } from "./streamReply.ts"
import { messageTokens, usageAttributes } from "./tokens.ts"

/** What should be text and is not is as good as absent. */
const string = (value: Json | undefined): string => textOf(value) ?? ""

const parse = (data: string): JsonObject | undefined => {
  try {
    const value = JSON.parse(data) as Json
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Anthropic's in-band error types, as the statuses that they have before the first byte. */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 408,
  overloaded_error: 529
}

/** `message_delta` counts are cumulative and overlay those of `message_start`; a null says nothing. */
const overlay = (before: JsonObject, after: JsonObject): JsonObject => {
  const merged: Record<string, Json> = { ...before }
  for (const key in after) if (after[key] !== null && after[key] !== undefined) merged[key] = after[key]
  return merged
}

const frame = (event: string, data: string) => `event: ${event}\ndata: ${data}\n\n`
/** Data that came in several lines goes out in several. */
const forward = (event: string, data: string) =>
  frame(event, data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data)

export const messagesRewriter = (options: {
  readonly model: string
  readonly observation: Observation
  readonly scrub: (message: string) => string
}): Rewriter => {
  const { observation } = options
  const calls = makeAccumulator()
  /** Indexes of the content blocks that are tool calls and still open. */
  const open = new Set<unknown>()
  let usage: JsonObject = {}
  let stopReason: string | undefined
  let done = false
  let failure: GatewayError | undefined

  const governance = () => {
    const found = governanceOf(calls.flags())
    return found === undefined
      ? ""
      : frame("gateway_governance", JSON.stringify({ type: "gateway_governance", x_gateway_governance: found }))
  }

  const start = (fields: JsonObject): string => {
    const message = objectOf(fields.message)
    usage = objectOf(message.usage)
    return JSON.stringify({ ...fields, message: { ...message, model: options.model } })
  }

  /** The text of one event; sets `done` or `failure` where it ends the stream. */
  const rewrite = (event: Event): string => {
    const name = event.event ?? string(parse(event.data)?.type)
    switch (name) {
      case "message_start": {
        const fields = parse(event.data)
        if (fields === undefined) break
        return frame(name, start(fields))
      }
      case "content_block_start": {
        const fields = parse(event.data)
        if (fields === undefined) break
        const block = objectOf(fields.content_block)
        if (block.type === "tool_use" || block.type === "server_tool_use") {
          const index = numberOf(fields.index) ?? -1
          open.add(index)
          calls.start(index, string(block.id), string(block.name))
          if (isObject(block.input)) calls.input(index, block.input)
        }
        return forward(name, event.data)
      }
      case "content_block_delta": {
        // Text deltas are never parsed; one that merely mentions the type is parsed in vain.
        if (open.size > 0 && event.data.includes("input_json_delta")) {
          const fields = parse(event.data)
          if (fields === undefined) break
          const delta = objectOf(fields.delta)
          const index = numberOf(fields.index) ?? -1
          if (delta.type === "input_json_delta" && open.has(index)) calls.append(index, string(delta.partial_json))
        } else if (!looksLikeObject(event.data)) break
        return forward(name, event.data)
      }
      case "content_block_stop": {
        if (open.size > 0) {
          const index = numberOf(parse(event.data)?.index) ?? -1
          if (open.delete(index)) calls.complete(index)
        }
        return forward(name, event.data)
      }
      case "message_delta": {
        const fields = parse(event.data)
        if (fields === undefined) break
        usage = overlay(usage, objectOf(fields.usage))
        stopReason = string(objectOf(fields.delta).stop_reason)
        return forward(name, event.data)
      }
      case "message_stop":
        done = true
        // Bedrock adds its own metrics here, which are no part of the format.
        return frame(name, '{"type":"message_stop"}') + governance()
      case "error": {
        const error = objectOf(parse(event.data)?.error)
        failure = statusError({
          status: statuses[string(error.type)] ?? 500,
          message: options.scrub(string(error.message))
        })
        return ""
      }
      default:
        if (looksLikeObject(event.data)) return name === "" ? "" : forward(name, event.data)
    }
    failure = malformed
    return ""
  }

  return {
    step: (events): Rewritten => {
      let text = ""
      for (const event of events) {
        text += rewrite(event)
        if (done || failure !== undefined) break
      }
      return { text, done, failure }
    },
    end: () => ({ text: "", failure: done ? undefined : cutError, done }),
    settle: (span) => {
      const flags = calls.flags()
      observation.flags = flags.length
      observation.tokens = messageTokens(usage)
      observation.finishReason = stopReason
      span.set(usageAttributes(observation.tokens, stopReason, flags.length))
    },
    // Flags of the calls so far are not lost with the stream.
    inBand: (error) => governance() + frame("error", JSON.stringify(errorBody("messages", error)))
  }
}

/** A cheap look at data that is forwarded unread. */
const looksLikeObject = (data: string) => data.startsWith("{") && data.endsWith("}")
