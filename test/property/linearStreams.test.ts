/** Nothing that a stream says many times may cost more than linear, or hold up other requests (docs/api.md#when-a-cloud-fails). */
import { describe, expect, it } from "@effect/vitest"
import { makeAccumulator } from "../../src/governance/accumulate.ts"
import { superlinear, type Work } from "../support/growth.ts"
import { heldAlone } from "../support/heldAlone.ts"
import { eventOf, protocols, readCalls } from "../support/protocols.ts"

type Said = Readonly<Record<string, unknown>>

const claude: Readonly<Record<string, (at: number) => Said>> = {
  beginnings: (at) => ({ type: "message_start", message: { id: `m${at}`, content: [], usage: { [`k${at}`]: 1 } } }),
  "counts of new names": (at) => ({ type: "message_delta", delta: {}, usage: { [`k${at}`]: 1, output_tokens: at } }),
  "deltas without a count": () => ({ type: "message_delta", delta: { stop_reason: "end_turn" } }),
  calls: (at) => ({
    type: "content_block_start",
    index: at,
    content_block: { type: "tool_use", id: `t${at}`, name: "f", input: { at } }
  }),
  "calls at one index": (at) => ({
    type: "content_block_start",
    index: 0,
    content_block: { type: "tool_use", id: `t${at}`, name: "f" }
  }),
  "pieces of a call": () => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "input_json_delta", partial_json: "https://" }
  }),
  "pieces of calls": (at) => ({
    type: "content_block_delta",
    index: at,
    delta: { type: "input_json_delta", partial_json: "{" }
  }),
  texts: (at) => ({ type: "content_block_start", index: at, content_block: { type: "text", text: "a" } }),
  "pieces of a text": () => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "```" } }),
  thoughts: (at) => ({
    type: "content_block_start",
    index: at,
    content_block: { type: "thinking", thinking: "a", signature: "b" }
  }),
  "pieces of a thought": () => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "thinking_delta", thinking: "a" }
  }),
  ends: (at) => ({ type: "content_block_stop", index: at }),
  "ends of a call that goes on": (at) =>
    at % 2 === 0
      ? {
          type: "content_block_delta",
          index: 0,
          delta: { type: "input_json_delta", partial_json: "https://a.example/" }
        }
      : { type: "content_block_stop", index: 0 }
}
const gpt: Readonly<Record<string, (at: number) => Said>> = {
  "counts of new names": (at) => ({ choices: [], usage: { [`k${at}`]: 1 } }),
  texts: () => ({ choices: [{ index: 0, delta: { content: "<reasoning" } }] }),
  calls: (at) => ({
    choices: [
      { index: 0, delta: { tool_calls: [{ index: at, id: `c${at}`, function: { name: "f", arguments: "{}" } }] } }
    ]
  }),
  "pieces of a call": () => ({
    choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: "a:" } }] } }]
  }),
  refusals: () => ({ choices: [{ index: 0, delta: { refusal: "no" } }] }),
  citations: () => ({ choices: [{ index: 0, delta: { annotations: [{ type: "url_citation" }] } }] })
}
const gemini: Readonly<Record<string, (at: number) => Said>> = {
  "counts of new names": (at) => ({ usageMetadata: { [`k${at}`]: 1, promptTokenCount: at } }),
  texts: () => ({ candidates: [{ content: { parts: [{ text: "a", thoughtSignature: "s" }] } }] }),
  calls: (at) => ({ candidates: [{ content: { parts: [{ functionCall: { name: "f", args: { at } } }] } }] })
}
const responses: Readonly<Record<string, (at: number) => Said>> = {
  items: (at) => ({
    type: "response.output_item.added",
    output_index: at,
    item: { type: "function_call", call_id: `c${at}`, name: "f", arguments: "" }
  }),
  "items that are done": (at) => ({
    type: "response.output_item.done",
    output_index: at,
    item: { type: "function_call", call_id: `c${at}`, name: "f", arguments: "{}" }
  }),
  "one item that is done": (at) => ({
    type: "response.output_item.done",
    output_index: 0,
    item: { type: "function_call", call_id: "c", name: "f", arguments: `{"a":${at}}` }
  }),
  "encrypted items": (at) => ({
    type: "response.output_item.added",
    output_index: at,
    item: { type: "compaction", encrypted_content: "x" }
  }),
  "pieces of a call": () => ({ type: "response.function_call_arguments.delta", output_index: 0, delta: "a:" }),
  "arguments of a call": (at) => ({
    type: "response.function_call_arguments.done",
    output_index: 0,
    arguments: `{"a":${at}}`
  }),
  texts: (at) => ({ type: "response.output_text.delta", output_index: at, delta: "a" }),
  refusals: (at) => ({ type: "response.refusal.delta", output_index: at, delta: "a" }),
  "unknown events": (at) => ({ type: `response.x${at}`, output_index: at })
}

const streams = [
  ["messages", claude],
  ["messages, unfenced", claude],
  ["responses", responses],
  ["chat, Claude", claude],
  ["chat, GPT", gpt],
  ["chat, gpt-oss", gpt],
  ["chat, GPT on Bedrock", responses],
  ["chat, Gemini", gemini]
] as const

describe.each(streams)("a stream of %s", (stream, kinds) => {
  it.each(Object.entries(kinds))("takes time in proportion to its %s", { timeout: 60_000 }, async (_, say) => {
    const hearing =
      (size: number): Work =>
      (step) => {
        const events = Array.from({ length: size }, (_, at) => eventOf(say(at)))
        const protocol = protocols[stream]()
        const calls = makeAccumulator()
        // In small arrays, as they come.
        for (let at = 0; at < size; at += 10) step("hear", () => readCalls(protocol, events.slice(at, at + 10), calls))
        step("flag", () => calls.flags())
      }
    expect(await superlinear(hearing, 500)).toEqual([])
  })
})

const text = { output_index: 0, content_index: 0 }
const done = { type: "response.output_text.done", ...text, text: "" }
const delta = { type: "response.output_text.delta", ...text, delta: "word " }
const guarded = {
  "a text that is done many times": (size: number) =>
    Array.from({ length: 2 * size }, (_, at) => (at < size ? delta : done)),
  "a text that is done with each piece": (size: number) =>
    Array.from({ length: 2 * size }, (_, at) => (at % 2 === 0 ? delta : done)),
  sentences: (size: number) => Array.from({ length: size }, () => ({ ...delta, delta: "Word. " })),
  items: (size: number) =>
    Array.from({ length: size }, (_, at) => ({
      type: "response.output_item.done",
      output_index: at,
      item: { type: "message", content: [{ type: "output_text", text: `a${at}` }] }
    }))
}

describe.each(["sentence", "whole"])("a stream that guards hold back (%s)", (hold) => {
  it.each(Object.entries(guarded))("takes time in proportion to %s", { timeout: 60_000 }, async (_, events) => {
    const holding =
      (size: number): Work =>
      async (_, turns) => {
        const frames = events(size).map((event) => ({ event: event.type, data: JSON.stringify(event) }))
        const step = heldAlone("responses", hold === "whole")
        for (let at = 0; at < frames.length; at += 100) await turns("hold", step(frames.slice(at, at + 100)))
        await turns("release", step([], true))
      }
    expect(await superlinear(holding, 1000)).toEqual([])
  })
})
