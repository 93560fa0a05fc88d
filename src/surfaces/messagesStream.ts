/** The messages stream: events are forwarded as they come, but for the few that the gateway must change (docs/api.md#messages-stream). */
import { unreadable } from "../catalog/UpstreamFault.ts"
import { messagesErrorBody } from "../contract/Errors.ts"
import type { Governance } from "../contract/Governance.ts"
import type { CallPiece } from "../governance/accumulate.ts"
import { type Frame, outputBytes, type Progress, type Protocol } from "../stream/Frame.ts"
import { eventTypeOf, isFilter, isGuarded, isOneEvent } from "../vendors/answer.ts"
import { thoughtBytes } from "../vendors/claude/reply.ts"
import { overlayUsage, tokensOf, totalsAtEnd } from "../vendors/claude/usage.ts"
import { claudeFault } from "../vendors/faults.ts"
import { arrayOf, type JsonObject, numberOf, objectOf, omitNull, readObject, textOf } from "../wire/json.ts"
import { readExactObject } from "../wire/parse.ts"
import { jsonText } from "../wire/print.ts"
import type { Event } from "../wire/sse.ts"
import { messagesError } from "./errorResponse.ts"
import { fenceRemover } from "./messagesFormat.ts"

const governanceFrame = (governance: Governance): Frame => ({
  event: "gateway_governance",
  data: JSON.stringify({ type: "gateway_governance", x_gateway_governance: governance })
})

/** Sent in place of the cloud's, to which Bedrock adds metrics. */
const messageStop: Frame = { event: "message_stop", data: '{"type":"message_stop"}' }

const string = (value: unknown): string => textOf(value) ?? ""

/** Blocks that call a tool of the caller's or of the vendor's. */
export const isCall = ({ type }: JsonObject): boolean =>
  type === "tool_use" || type === "server_tool_use" || type === "mcp_tool_use"

const called = (key: number, block: JsonObject): ReadonlyArray<CallPiece> => {
  if (!isCall(block)) return []
  const start: CallPiece = { type: "start", key, id: string(block.id), name: string(block.name) }
  return block.input === undefined ? [start] : [start, { type: "input", key, value: block.input }]
}

/** Events that are read, and must have a type. */
const typed: ReadonlySet<string> = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta"
])

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

  /** The frame of one event; undefined for one that is not sent, or that ends the stream with a fault. */
  const frameOf = ({ data, event }: Event): Frame | undefined => {
    const read = readObject(data)
    const fields = objectOf(read)
    const type = eventTypeOf(fields)
    const name = event ?? type ?? ""
    const key = numberOf(fields.index) ?? -1
    guarded ||= isGuarded(fields)
    // Clients parse the data of unknown events, too.
    const isRead = typed.has(name) ? type === name : read !== undefined || name === "message_stop" || name === "error"
    if (!isRead || !isOneEvent(event, type)) {
      progress.end = unreadable
      return undefined
    }
    switch (name) {
      case "message_start": {
        // It is printed again, with its numbers as they came.
        const exact = objectOf(readExactObject(data))
        const message = objectOf(exact.message)
        start = overlayUsage({}, message.usage)
        const calls = arrayOf(message.content).flatMap((block, at) => called(at, objectOf(block)))
        const shown = { ...message, model, usage: message.usage ?? uncounted }
        return { event: name, data: jsonText({ ...exact, message: shown }), calls }
      }
      case "content_block_start": {
        const block = objectOf(objectOf(readExactObject(data)).content_block)
        progress.bytes += outputBytes(block.text) + thoughtBytes(block) + outputBytes(block.input)
        return { event: name, data, calls: called(key, block) }
      }
      case "content_block_delta": {
        const delta = objectOf(fields.delta)
        const json = string(delta.partial_json)
        progress.bytes += outputBytes(delta.text) + thoughtBytes(delta) + outputBytes(json)
        // Also before a block begins and after it has ended: clients join what they get.
        const calls: ReadonlyArray<CallPiece> = [{ type: "append", key, text: json }]
        return delta.type === "input_json_delta" ? { event: name, data, calls } : { event: name, data }
      }
      case "content_block_stop":
        // Ignored for a block that is no call.
        return { event: name, data, calls: [{ type: "end", key }] }
      case "message_delta":
        totals = overlayUsage(totals, fields.usage)
        stopReason = textOf(objectOf(fields.delta).stop_reason) ?? stopReason
        waiting = numberOf(totals.output_tokens) === undefined ? objectOf(readExactObject(data)) : undefined
        return waiting === undefined ? { event: name, data } : undefined
      case "message_stop":
        totals = totalsAtEnd(start, totals, fields)
        progress.end = "complete"
        return { ...messageStop, flagged: (governance) => [messageStop, governanceFrame(governance)] }
      case "error":
        progress.end = claudeFault(objectOf(fields.error))
        return undefined
      default:
        return name === "" ? undefined : { event: name, data }
    }
  }

  /** A `message_delta` that has waited, with the totals so far, of which clients read the output (docs/decisions.md#usage-counts). */
  const counted = (fields: JsonObject): Frame => {
    const counts = Object.entries(totals).filter(([, count]) => typeof count === "number")
    const begun = { output_tokens: numberOf(start.output_tokens) ?? 0 }
    const usage = { ...begun, ...Object.fromEntries(counts), ...omitNull(objectOf(fields.usage)) }
    return { event: "message_delta", data: jsonText({ ...fields, usage }) }
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
