/**
 * The responses stream: forwarded as it comes, but for what carries calls or encrypted reasoning, and its end
 * (docs/api.md#responses-stream).
 */
import { unreadable } from "../catalog/UpstreamFault.ts"
import type { Scrub } from "../cloud/fault.ts"
import type { Called, CallPiece } from "../governance/accumulate.ts"
import { type Frame, outputBytes, type Progress, type Protocol, type Summary } from "../stream/Frame.ts"
import { eventTypeOf, isOneEvent } from "../vendors/answer.ts"
import { responsesFault } from "../vendors/faults.ts"
import { isObject, type JsonObject, numberOf, textOf } from "../wire/json.ts"
import { readExactObject } from "../wire/parse.ts"
import { jsonText } from "../wire/print.ts"
import type { Event } from "../wire/sse.ts"
import { apiError } from "./errorResponse.ts"
import {
  callOf,
  callsOf,
  eventWithoutEncrypted,
  isEncrypted,
  responseWithoutEncrypted,
  scrubbedError,
  summarize
} from "./responsesReply.ts"

const terminal: ReadonlySet<string> = new Set(["response.completed", "response.incomplete", "response.failed"])

/** Items that are left out, at most: more than any reply has. All are looked at with each event. */
const maxLeftOut = 1_000
/** What a place in the output takes that is remembered, in bytes, about. */
const heldPerPlace = 32

const keyOf = (fields: JsonObject): number => numberOf(fields.output_index) ?? -1

/** A text as it stands in a string of JSON. */
const escaped = (text: unknown): string => JSON.stringify(textOf(text) ?? "").slice(1, -1)

/** What a call holds when it begins, to which its deltas are added, or when it is done, after them. */
const heldBy = (key: number, call: Called, isDone: boolean): CallPiece => {
  if ("input" in call && typeof call.input !== "string") return { type: "input", key, value: call.input }
  const text = "input" in call ? `"${escaped(call.input)}` : call.arguments
  return { type: isDone ? "repeat" : "append", key, text }
}

/** As it came, but for what is encrypted. */
const passed = (name: string, data: string, fields: JsonObject): Frame => {
  const shown = eventWithoutEncrypted(fields)
  return { event: name, data: shown === fields ? data : jsonText(shown) }
}

/** `scrub` takes out of a failure's message what is the operator's. */
export const responsesProtocol = (scrub: Scrub): Protocol => {
  const progress: Progress = { end: undefined, bytes: 0 }
  let summary: Summary = { tokens: undefined, finishReason: undefined }
  /** Items of which anything was said before they were done. */
  const begun = new Set<number>()
  /** Places of items that are left out, as the upstream counts them. */
  const leftOutPlaces: Array<number> = []
  /** How many numbered events are left out. */
  let leftOut = 0
  /** The number of the last event that was passed on. */
  let lastNumber = -1

  const broken = (): undefined => {
    progress.end = unreadable
  }

  /** The whole response ends the stream; its flags, and those of calls that it does not repeat, ride on it. */
  const finish = (name: string, data: string, fields: JsonObject): Frame | undefined => {
    const given = fields.response
    if (!isObject(given)) return broken()
    const response = scrubbedError(given, scrub) ?? given
    const shown = responseWithoutEncrypted(response)
    progress.end = "complete"
    // The name says it, also where the response does not.
    summary = summarize({ ...response, status: name.slice("response.".length) })
    const print = (response: JsonObject): Frame => ({ event: name, data: jsonText({ ...fields, response }) })
    return {
      ...(shown === given ? { event: name, data } : print(shown)),
      calls: callsOf(response).map((call) => ({ type: "whole", call })),
      flagged: (governance) => [print({ ...shown, x_gateway_governance: governance })]
    }
  }

  /** An item that begins or is done, which may be a call. */
  const item = (name: string, data: string, fields: JsonObject): Frame | undefined => {
    const frame = passed(name, data, fields)
    const call = callOf(fields.item)
    if (call === undefined) return frame
    const key = keyOf(fields)
    const start: CallPiece = { type: "start", key, id: call.id, name: call.name }
    const isDone = name.endsWith("done")
    const calls = [start, heldBy(key, call, isDone)]
    return { ...frame, calls: isDone ? [...calls, { type: "end", key }] : calls }
  }

  /** Numbers and places without those that are left out: clients append item by item. Undefined for an event of an item that is. */
  const renumbered = (name: string, fields: JsonObject): JsonObject | undefined => {
    const place = numberOf(fields.output_index)
    const number = numberOf(fields.sequence_number)
    if (place !== undefined && leftOutPlaces.includes(place)) return undefined
    if (name === "response.output_item.added" && isEncrypted(fields.item)) {
      if (place !== undefined) leftOutPlaces.push(place)
      return undefined
    }
    const before = place === undefined ? 0 : leftOutPlaces.filter((other) => other < place).length
    if (leftOut === 0 && before === 0) return fields
    return {
      ...fields,
      ...(place === undefined ? {} : { output_index: place - before }),
      ...(number === undefined ? {} : { sequence_number: number - leftOut })
    }
  }

  /** What a delta says, and an item that is done and had none. */
  const count = (name: string, fields: JsonObject): void => {
    const isDelta = name.endsWith(".delta")
    if (!isDelta && name !== "response.output_item.done") return
    const key = keyOf(fields)
    if (isDelta) begun.add(key)
    else if (begun.has(key)) return
    progress.bytes += outputBytes(isDelta ? fields.delta : fields.item)
  }

  /** The frame of one event; undefined for one that says nothing to the caller, or that ends the stream with a fault. */
  const frameOf = (event: Event, given: JsonObject | undefined): Frame | undefined => {
    const type = given && eventTypeOf(given)
    const name = event.event ?? type ?? ""
    if (given === undefined || !isOneEvent(event.event, type)) return broken()
    const fields = renumbered(name, given)
    if (leftOutPlaces.length > maxLeftOut) return broken()
    if (fields === undefined) return undefined
    const data = fields === given ? event.data : jsonText(fields)
    count(name, fields)
    if (terminal.has(name)) return finish(name, data, fields)
    const ofCall = (type: "append" | "repeat", text: string): Frame => {
      return { event: name, data, calls: [{ type, key: keyOf(fields), text }] }
    }
    switch (name) {
      case "response.compaction.compacting":
        return undefined
      case "error":
        progress.end = responsesFault(fields)
        return undefined
      case "response.output_item.added":
      case "response.output_item.done":
        return item(name, data, fields)
      case "response.function_call_arguments.delta":
        return ofCall("append", textOf(fields.delta) ?? "")
      case "response.function_call_arguments.done":
        return ofCall("repeat", textOf(fields.arguments) ?? "")
      case "response.custom_tool_call_input.done":
        return ofCall("repeat", `"${escaped(fields.input)}`)
      case "response.custom_tool_call_input.delta":
      case "response.shell_call_command.delta":
      case "response.apply_patch_call_operation_diff.delta":
        return ofCall("append", escaped(fields.delta))
      // A call has several commands. Each begins like a string of its own, as in the item that says them whole.
      case "response.shell_call_command.added":
      case "response.shell_call_command.done":
      case "response.apply_patch_call_operation_diff.done":
        return ofCall("append", `"${escaped(fields.command ?? fields.diff)}`)
      case "":
        return undefined
      default:
        return passed(name, data, fields)
    }
  }

  return {
    progress,
    step: (events) => {
      const frames: Array<Frame> = []
      for (const event of events) {
        const fields = readExactObject(event.data)
        const frame = frameOf(event, fields)
        if (frame !== undefined) frames.push(frame)
        if (progress.end !== undefined) break
        const number = numberOf(fields?.sequence_number)
        if (number === undefined) continue
        if (frame === undefined) leftOut++
        else lastNumber = number - leftOut
      }
      progress.held = heldPerPlace * begun.size
      return frames
    },
    onHalt: () => [],
    inBand: (error, governance) => {
      const { code, type, message } = apiError(error)
      const said = { code: code ?? type, message, param: null }
      return [
        {
          event: "error",
          // As OpenAI documents it, and as it sends it: its SDK for Python raises by `error` alone.
          data: JSON.stringify({
            type: "error",
            ...said,
            error: { type, ...said },
            sequence_number: lastNumber + 1,
            x_gateway_governance: governance
          })
        }
      ]
    },
    summary: () => summary
  }
}
