/** A responses reply: the upstream's own bytes, unless something must be added or removed (spec: POST /v1/responses). */
import { arrayOf, isObject, type Json, type JsonObject, numberOf, objectOf, textOf } from "../dialect/json.ts"
import { makeAccumulator } from "../governance/accumulate.ts"
import { type Flag, flagCall, governanceOf } from "../governance/flags.ts"
import { GatewayError } from "../model/GatewayError.ts"
import type { Event } from "../provider/framing/Event.ts"
import { cutError, malformed, type Scrub, statusError } from "../provider/refusal.ts"
import type { UpstreamSpan } from "../provider/Upstream.ts"
import { parseExact } from "./body.ts"
import { errorDetail } from "./errorReply.ts"
import type { Observation, Tokens } from "./Observation.ts"
import type { Rewriter } from "./streamReply.ts"
import { usageAttributes } from "./tokens.ts"

const secretField = "encrypted_content"

/** Numbers that JavaScript cannot hold stay as they came. */
const parse = (text: string): JsonObject | undefined => {
  try {
    const value = parseExact(text) as Json
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** An output item without its encrypted reasoning. */
const exposed = ({ [secretField]: _, ...item }: JsonObject): JsonObject => item
const exposedItem = (item: Json): Json => (isObject(item) ? exposed(item) : item)
const exposedResponse = (response: JsonObject): JsonObject =>
  Array.isArray(response.output) ? { ...response, output: response.output.map(exposedItem) } : response

/** An event: its item, or the whole response that openings and ends carry. */
const exposedEvent = (event: JsonObject): JsonObject => ({
  ...exposed(event),
  ...(isObject(event.item) ? { item: exposed(event.item) } : {}),
  ...(isObject(event.response) ? { response: exposedResponse(event.response) } : {})
})

/** Arguments of a function call, and the text that a custom tool is given. */
const callOf = (item: Json): { id: string; name: string; arguments: string } | undefined => {
  const { type, call_id, name, arguments: args, input } = objectOf(item)
  if (type !== "function_call" && type !== "custom_tool_call") return undefined
  return { id: textOf(call_id) ?? "", name: textOf(name) ?? "", arguments: textOf(args) ?? textOf(input) ?? "" }
}

const flagsOfOutput = (output: Json | undefined): ReadonlyArray<Flag> =>
  arrayOf(output).flatMap((item) => {
    const call = callOf(item)
    return (call === undefined ? undefined : flagCall(call)) ?? []
  })

const tokensOf = (usage: Json | undefined): Tokens | undefined => {
  const counts = objectOf(usage)
  const input = numberOf(counts.input_tokens)
  if (input === undefined) return undefined
  return {
    input,
    output: numberOf(counts.output_tokens) ?? 0,
    cached: numberOf(objectOf(counts.input_tokens_details).cached_tokens),
    reasoning: numberOf(objectOf(counts.output_tokens_details).reasoning_tokens)
  }
}

/** What is known at the end, for the record and the span. */
interface Summary {
  readonly tokens: Tokens | undefined
  readonly status: string | undefined
  readonly flags: ReadonlyArray<Flag>
}

const summarize = (response: JsonObject): Summary => ({
  tokens: tokensOf(response.usage),
  status: textOf(response.status),
  flags: flagsOfOutput(response.output)
})

/** A reply whose status is `failed`: it is passed on as it came, but it is no success. */
const failedReply = new GatewayError({ reason: "upstream", message: "the model failed", code: "upstream-error" })

export const note = (observation: Observation, summary: Summary, span: UpstreamSpan) => {
  if (summary.status === "failed") {
    observation.fail(failedReply)
    span.fail(failedReply)
  }
  observation.tokens = summary.tokens
  observation.finishReason = summary.status
  observation.flags = summary.flags.length
  if (summary.tokens !== undefined) span.set(usageAttributes(summary.tokens, summary.status, summary.flags.length))
}

/** The text to send for a whole reply; undefined for what is not a response. */
export const rewriteResponse = (text: string): { readonly text: string; readonly summary: Summary } | undefined => {
  const response = parse(text)
  if (response?.object !== "response") return undefined
  const summary = summarize(response)
  const governance = governanceOf(summary.flags)
  if (governance === undefined && !text.includes(secretField)) return { text, summary }
  const shown = exposedResponse(response)
  return {
    text: JSON.stringify(governance === undefined ? shown : { ...shown, x_gateway_governance: governance }),
    summary
  }
}

const terminal: ReadonlySet<string> = new Set(["response.completed", "response.incomplete", "response.failed"])
/** OpenAI's codes of in-band errors, as the statuses that they have before the first byte. */
const statuses: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  too_many_requests: 429,
  invalid_prompt: 400
}

const frame = (event: string, data: string) =>
  `event: ${event}\ndata: ${data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data}\n\n`

/** The stream: forwarded as it comes, but for what carries calls or encrypted reasoning, and its end. */
export const responsesRewriter = (options: { readonly observation: Observation; readonly scrub: Scrub }): Rewriter => {
  const calls = makeAccumulator()
  const inPieces = new Set<number>()
  let summary: Summary | undefined
  let done = false
  let failure: GatewayError | undefined
  let lastData = ""

  /** A call that came in one piece, without deltas before it. */
  const whole = (key: number, text: string) => {
    if (inPieces.has(key)) return
    inPieces.add(key)
    calls.append(key, text)
  }

  /** Flags of the whole response, and of the calls that it does not repeat or that came before it broke off. */
  const flags = (): ReadonlyArray<Flag> => {
    const repeated = summary?.flags ?? []
    const known = new Set(repeated.map((flag) => flag.tool_call_id))
    return [...repeated, ...calls.flags().filter((flag) => !known.has(flag.tool_call_id))]
  }

  const finish = (name: string, data: string): string => {
    const fields = parse(data)
    const response = fields?.response
    if (fields === undefined || !isObject(response)) return broken()
    done = true
    summary = summarize(response)
    summary = { ...summary, flags: flags() }
    const governance = governanceOf(summary.flags)
    if (governance === undefined && !data.includes(secretField)) return frame(name, data)
    const shown = exposedResponse(response)
    return frame(
      name,
      JSON.stringify({
        ...fields,
        response: governance === undefined ? shown : { ...shown, x_gateway_governance: governance }
      })
    )
  }

  const broken = () => {
    failure = malformed
    return ""
  }

  const rewrite = ({ event, data }: Event): string => {
    const name = event ?? textOf(parse(data)?.type) ?? ""
    if (terminal.has(name)) return finish(name, data)
    switch (name) {
      case "error": {
        const fields = parse(data) ?? {}
        const detail = isObject(fields.error) ? fields.error : fields
        failure = statusError({
          status: statuses[textOf(detail.code) ?? ""] ?? 500,
          message: options.scrub(textOf(detail.message) ?? "the model failed")
        })
        return ""
      }
      case "response.output_item.added":
      case "response.output_item.done": {
        const fields = parse(data)
        if (fields === undefined) return broken()
        const key = numberOf(fields.output_index) ?? -1
        const call = callOf(fields.item ?? null)
        if (call !== undefined) {
          calls.start(key, call.id, call.name)
          if (name.endsWith("done")) {
            whole(key, call.arguments)
            calls.complete(key)
          }
        }
        return frame(name, data.includes(secretField) ? JSON.stringify(exposedEvent(fields)) : data)
      }
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta": {
        const fields = parse(data)
        if (fields === undefined) return broken()
        const key = numberOf(fields.output_index) ?? -1
        inPieces.add(key)
        calls.append(key, textOf(fields.delta) ?? "")
        return frame(name, data)
      }
      case "response.function_call_arguments.done":
      case "response.custom_tool_call_input.done": {
        const fields = parse(data)
        if (fields === undefined) return broken()
        whole(numberOf(fields.output_index) ?? -1, textOf(fields.arguments) ?? textOf(fields.input) ?? "")
        return frame(name, data)
      }
      default: {
        if (!data.startsWith("{") || !data.endsWith("}")) return broken()
        if (!data.includes(secretField)) return name === "" ? "" : frame(name, data)
        const fields = parse(data)
        return fields === undefined ? broken() : frame(name, JSON.stringify(exposedEvent(fields)))
      }
    }
  }

  return {
    step: (events) => {
      let text = ""
      for (const event of events) {
        text += rewrite(event)
        if (done || failure !== undefined) break
        lastData = event.data
      }
      return { text, done, failure }
    },
    end: () => ({ text: "", done, failure: done ? undefined : cutError }),
    settle: (span) =>
      note(options.observation, summary ?? { tokens: undefined, status: undefined, flags: flags() }, span),
    inBand: (error) => {
      const { type, message } = errorDetail(error)
      const last = numberOf(parse(lastData)?.sequence_number)
      const governance = governanceOf(flags())
      return frame(
        "error",
        JSON.stringify({
          type: "error",
          code: type,
          message,
          param: null,
          sequence_number: last === undefined ? 0 : last + 1,
          ...(governance === undefined ? {} : { x_gateway_governance: governance })
        })
      )
    }
  }
}
