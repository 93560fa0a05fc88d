/** The messages stream: events are forwarded as they come, but for the few that the gateway must change (docs/api.md#messages-stream). */
import { unreadable } from "../catalog/UpstreamFault.ts"
import { messagesErrorBody } from "../contract/Errors.ts"
import type { Governance } from "../contract/Governance.ts"
import type { CallPiece } from "../governance/accumulate.ts"
import { type Frame, outputBytes, type Progress, type Protocol } from "../stream/Frame.ts"
import { isFilter, isGuarded } from "../vendors/answer.ts"
import { claudeFault, overlayUsage, tokensOf, totalsAtEnd } from "../vendors/claude/reply.ts"
import { arrayOf, isObject, type JsonObject, numberOf, objectOf, omitNull, readObject, textOf } from "../wire/json.ts"
import { readExactObject } from "../wire/parse.ts"
import { jsonText } from "../wire/print.ts"
import { type Event, isEventName } from "../wire/sse.ts"
import { messagesError } from "./errorResponse.ts"
import { fenceRemover } from "./messagesFormat.ts"

const governanceFrame = (governance: Governance): Frame => ({
  event: "gateway_governance",
  data: JSON.stringify({ type: "gateway_governance", x_gateway_governance: governance })
})

/** Sent in place of the cloud's, to which Bedrock adds metrics. */
const messageStop: Frame = {
  event: "message_stop",
  data: '{"type":"message_stop"}',
  flagged: (governance) => [{ event: "message_stop", data: '{"type":"message_stop"}' }, governanceFrame(governance)]
}

const string = (value: unknown): string => textOf(value) ?? ""

/** Blocks that call a tool of the caller's or of the vendor's. */
export const isCall = ({ type }: JsonObject): boolean =>
  type === "tool_use" || type === "server_tool_use" || type === "mcp_tool_use"

/** The pieces of a call in a block. */
const called = (key: number, block: JsonObject): ReadonlyArray<CallPiece> => {
  if (!isCall(block)) return []
  const start: CallPiece = { type: "start", key, id: string(block.id), name: string(block.name) }
  return isObject(block.input) ? [start, { type: "input", key, value: block.input }] : [start]
}

/** The counts that `message_start` must have, where the cloud has none yet; the totals come later. */
const uncounted = { input_tokens: 0, output_tokens: 0 }

/** `model` is the base model, which the reply names in place of the upstream's. `fenced`: a Markdown fence around its texts is removed. */
export const messagesProtocol = (model: string, fenced = false): Protocol => {
  const progress: Progress = { end: undefined, bytes: 0 }
  const unfence = fenced ? fenceRemover() : undefined
  /** Counts of `message_start`, and the totals since. */
  let start: JsonObject = {}
  let totals: JsonObject = {}
  /** A `message_delta` without counts waits for the next one or the end, which may have them. */
  let waiting: JsonObject | undefined
  let stopReason: string | undefined
  /** Whether a guardrail of Bedrock intervened, which any event may say. */
  let guarded = false

  /** The frame of a `content_block_delta`, which most events are. */
  const delta = (event: string, data: string): Frame | undefined => {
    const fields = readObject(data)
    if (fields?.type !== event) return undefined
    guarded ||= isGuarded(fields)
    const { partial_json, text, thinking, type } = objectOf(fields.delta)
    progress.bytes += outputBytes(text) + outputBytes(thinking) + outputBytes(partial_json)
    const key = numberOf(fields.index) ?? -1
    // Also before a block begins and after it has ended: clients join what they get.
    return type === "input_json_delta"
      ? { event, data, calls: [{ type: "append", key, text: string(partial_json) }] }
      : { event, data }
  }

  /** The frame of one event; undefined for one that is not sent, or that ends the stream with a fault. */
  const frameOf = (event: Event): Frame | undefined => {
    const { data } = event
    const name = event.event ?? string(readObject(data)?.type)
    if (name !== "content_block_delta") return rareFrame(name, data)
    const frame = delta(name, data)
    if (frame === undefined) progress.end = unreadable
    return frame
  }

  /** The same of events of which a reply has few. Apart, because V8 recompiles code when shapes of objects that it reads are collected. */
  const rareFrame = (name: string, data: string): Frame | undefined => {
    // The start is printed again.
    const read = name === "message_start" ? readExactObject(data) : readObject(data)
    const fields = objectOf(read)
    // Clients read the name of an event or the `type` of its data.
    const type = textOf(fields.type)
    guarded ||= isGuarded(fields)
    switch (name) {
      case "message_start": {
        if (type !== name) break
        const message = objectOf(fields.message)
        start = overlayUsage({}, message.usage)
        const calls = arrayOf(message.content).flatMap((block, at) => called(at, objectOf(block)))
        const usage = message.usage ?? uncounted
        return { event: name, data: jsonText({ ...fields, message: { ...message, model, usage } }), calls }
      }
      case "content_block_start": {
        if (type !== name) break
        const block = objectOf(fields.content_block)
        progress.bytes += outputBytes(block.text) + outputBytes(block.thinking) + outputBytes(block.input)
        return { event: name, data, calls: called(numberOf(fields.index) ?? -1, block) }
      }
      case "content_block_stop":
        if (type !== name) break
        // Ignored for a block that is no call.
        return { event: name, data, calls: [{ type: "end", key: numberOf(fields.index) ?? -1 }] }
      case "message_delta":
        if (type !== name) break
        totals = overlayUsage(totals, fields.usage)
        stopReason = string(objectOf(fields.delta).stop_reason)
        waiting = numberOf(totals.output_tokens) === undefined ? fields : undefined
        return waiting === undefined ? { event: name, data } : undefined
      case "message_stop":
        totals = totalsAtEnd(start, totals, fields)
        progress.end = "complete"
        return messageStop
      case "error":
        progress.end = claudeFault(objectOf(fields.error))
        return undefined
      default:
        // Clients parse the data of unknown events, too.
        if (isEventName(name) && read !== undefined && (type === undefined || type === name))
          return name === "" ? undefined : { event: name, data }
    }
    progress.end = unreadable
    return undefined
  }

  /** A `message_delta` that has waited, with the totals where there are any (docs/decisions.md#usage-counts). */
  const counted = (fields: JsonObject): Frame => {
    const counts = Object.entries(totals).filter(([, count]) => typeof count === "number")
    const usage = { ...Object.fromEntries(counts), ...omitNull(objectOf(fields.usage)) }
    const withUsage = numberOf(totals.output_tokens) === undefined ? fields : { ...fields, usage }
    return { event: "message_delta", data: JSON.stringify(withUsage) }
  }

  return {
    progress,
    step: (events) => {
      const frames: Array<Frame> = []
      for (const event of unfence?.(events) ?? events) {
        const waited = waiting
        const frame = frameOf(event)
        if (waited !== undefined && (waited !== waiting || progress.end === "complete")) {
          frames.push(counted(waited))
        }
        if (frame !== undefined) frames.push(frame)
        if (progress.end !== undefined) break
      }
      return frames
    },
    onHalt: () => [],
    inBand: (error, governance) => {
      const last: Frame = { event: "error", data: JSON.stringify(messagesErrorBody(messagesError(error))) }
      return governance === undefined ? [last] : [governanceFrame(governance), last]
    },
    summary: () => ({
      tokens: tokensOf(progress.end === "complete" ? totals : { ...start, ...totals }),
      finishReason: stopReason,
      filtered: guarded || isFilter(stopReason)
    })
  }
}
