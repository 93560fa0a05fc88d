/**
 * The messages surface: native pass-through, with counting (docs/api.md#messages, docs/api.md#counting-tokens); what of a body is
 * read, refused, adjusted or removed before it goes upstream.
 */
import { pipe, Result } from "effect"
import { GatewayError, invalid } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import { countOf, reservedOutput } from "../catalog/Tokens.ts"
import { invalidBody } from "../catalog/UpstreamFault.ts"
import type { MessagesError } from "../contract/Errors.ts"
import { CountRequest, MessagesRequest } from "../contract/Messages.ts"
import type { CountReply } from "../contract/MessagesReply.ts"
import type { Called } from "../governance/accumulate.ts"
import { Adjusted, isIdle, reportUnsupported } from "../vendors/adjustments.ts"
import { isFilter, isGuarded } from "../vendors/answer.ts"
import { withOpaqueUser } from "../vendors/claude/request.ts"
import { tokensOf } from "../vendors/claude/usage.ts"
import { systemTurns } from "../vendors/refusals.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { plainFields, plainNumber } from "../wire/parse.ts"
import { plainPaths, strip } from "../wire/strip.ts"
import { refuseCloudFields, refuseOutside } from "./boundary.ts"
import { messagesError } from "./errorResponse.ts"
import { applyBetas } from "./messagesBetas.ts"
import { fitFormat, isEmulated, withoutFence } from "./messagesFormat.ts"
import { isCall, messagesProtocol } from "./messagesStream.ts"
import { adjustThinking, withoutSampling } from "./messagesThinking.ts"
import { refuseFunctions, refuseServerTools, screened, serverFields } from "./messagesTools.ts"
import { cacheLastBlock, foldSystem, mergeTurns, withoutRefusedThinking } from "./messageTurns.ts"
import type { Arrival, Counts, Prepared, Surface } from "./Surface.ts"

interface PreparedMessages extends Prepared {
  /** The base model, which replies name. */
  readonly model: string
  /** Whether an instruction is sent in place of the format of the answer. */
  readonly emulated: boolean
}

/** This surface reads the numbers at the top, and those in `thinking`. */
const plainNumbers = (body: JsonObject): JsonObject => {
  const plain = plainFields(body)
  const { thinking } = plain
  if (!isObject(thinking) || thinking.budget_tokens === undefined) return plain
  const budget_tokens = plainNumber(thinking.budget_tokens)
  return budget_tokens === thinking.budget_tokens ? plain : { ...plain, thinking: { ...thinking, budget_tokens } }
}

const countsOf = ({ messages, tools }: JsonObject): Counts => {
  const media = { images: 0, files: 0, mediaBytes: 0 }
  const count = (blocks: Json | undefined): void => {
    for (const block of arrayOf(blocks)) {
      if (!isObject(block)) continue
      if (block.type === "tool_result") count(block.content)
      else if (block.type === "image" || block.type === "document") {
        media[block.type === "image" ? "images" : "files"]++
        const { data, type } = objectOf(block.source)
        // A document may be text, which counts like the rest of the body.
        if (type === "base64") media.mediaBytes += (textOf(data) ?? "").length
      }
    }
  }
  for (const message of arrayOf(messages)) count(objectOf(message).content)
  return { tools: arrayOf(tools).length, ...media }
}

/**
 * A conversation that the server would keep. Without the field the turns that the caller leaves out would be lost. This is the vendor's
 * own error, after which its client libraries send whole conversations (docs/upstreams.md#message-threads).
 */
const threadUnsupported = new GatewayError({
  reason: "invalid",
  message: "thread: the gateway stores no conversations; send all messages with every request",
  details: { error_code: "thread_unsupported_request", unsupported: ["thread"] }
})

/** Fields that are sent for a count, and those that make no difference to one; other fields are removed and named. */
const counted = ["messages", "system", "tools", "tool_choice", "thinking", "output_config", "anthropic_version"]
const ignored = "max_tokens temperature top_p top_k stop_sequences metadata cache_control service_tier speed".split(" ")
const known: ReadonlySet<string> = new Set([...counted, ...ignored])

const countedOf = (body: JsonObject, adjusted: Adjusted): JsonObject => {
  reportUnsupported(body, known, adjusted)
  return Object.fromEntries(Object.entries(body).filter(([key]) => counted.includes(key)))
}

const refuse = (body: JsonObject): GatewayError | undefined => {
  if (body.thread !== undefined && body.thread !== null) return threadUnsupported
  const refusal =
    refuseFunctions(body) ?? refuseServerTools(body) ?? refuseCloudFields(body, serverFields) ?? refuseOutside(body)
  return refusal === undefined ? undefined : invalid(refusal)
}

/** The body with its version under the vendor's name, and without the model and whether it streams, which each cloud's call has elsewhere. */
const versioned = (body: JsonObject, adjusted: Adjusted): JsonObject => {
  const { vendor_version, anthropic_version, model: _, thread: __, stream: ___, ...rest } = body
  const version = anthropic_version ?? vendor_version ?? undefined
  if (version !== undefined && version !== (vendor_version ?? version)) adjusted.removed("vendor_version")
  return version === undefined ? rest : { ...rest, anthropic_version: version }
}

const prepare =
  (counting: boolean) =>
  (given: JsonObject, route: Route, { headers }: Arrival): Result.Result<PreparedMessages, GatewayError> => {
    const refusal = refuse(given)
    if (refusal !== undefined) return Result.fail(refusal)
    const { deployment, model, refused } = route
    const [adjusted, thinkingAdjusted] = [new Adjusted(), new Adjusted()]
    const allowed = (counting ? deployment.countBetas : deployment.betas) ?? []
    const applied = applyBetas(given, route, allowed, headers["anthropic-beta"], adjusted)
    const { betas } = applied
    const keepsSystem = deployment.systemTurns === true && refused?.has(systemTurns) !== true
    const cachesItself = counting || deployment.automaticCaching === true
    const alwaysNamed = plainPaths(refused)
    const body = pipe(
      versioned(applied.body, adjusted),
      // Of a turn in several messages the first may be nothing but thinking; what is removed may have stood between turns of one role.
      (body) => mergeTurns(body, adjusted),
      (body) => withoutRefusedThinking(body, adjusted),
      (body) => foldSystem(body, keepsSystem, adjusted),
      (body) => mergeTurns(body, adjusted),
      (body) => (cachesItself ? body : cacheLastBlock(body, adjusted)),
      (body) => fitFormat(body, route.strip, adjusted),
      (body) => (counting ? countedOf(body, adjusted) : body),
      (body) => withOpaqueUser(body, adjusted),
      (body) => withoutSampling(body, model, adjusted),
      (body) => adjustThinking(body, { model, deployment, betas, counting }, thinkingAdjusted),
      (body) =>
        strip(body, applied.strip, (path, value) => {
          if (!isIdle(path, value) || alwaysNamed.has(path)) adjusted.removed(path)
        }),
      (body): JsonObject => (betas.length === 0 ? body : { ...body, anthropic_beta: betas })
    )
    const stream = given.stream === true && !counting
    return Result.succeed({
      operation: counting ? "count" : "messages",
      bodies: [stream ? { ...body, stream } : body],
      stream,
      maxOutput: counting ? undefined : reservedOutput("messages", body, model),
      model: model.id,
      emulated: isEmulated(applied.body, route.strip),
      adjusted,
      thinkingAdjusted: counting ? undefined : thinkingAdjusted
    })
  }

/** The calls in a whole reply, which are scanned (docs/api.md#tool-call-scan). */
const callsOf = (content: Json | undefined): ReadonlyArray<Called> =>
  arrayOf(content)
    .filter(isObject)
    .filter(isCall)
    .map(({ id, input, name }) => ({ id: textOf(id) ?? "", name: textOf(name) ?? "", input }))

/** Where guards find the texts of both requests. */
const requestTexts = {
  request: {
    system: "system",
    messages: "user",
    output_config: "system",
    output_format: "system",
    // Compaction has instructions.
    context_management: "system",
    stop_sequences: "user"
  },
  others: "arguments"
} as const

export const messages: Surface<MessagesRequest, PreparedMessages, MessagesError> = {
  purpose: "messages",
  schema: MessagesRequest,
  plainNumbers,
  error: messagesError,
  counts: countsOf,
  tools: ({ tools }) => screened(tools),
  guarded: {
    ...requestTexts,
    // Flags quote destinations out of calls.
    reply: { content: "assistant", stop_details: "assistant", x_gateway_governance: "arguments" }
  },
  prepare: prepare(false),
  *answer({ emulated, model }, reply) {
    if (reply.body.type !== "message") return Result.fail(invalidBody)
    const body = emulated ? withoutFence(reply.body) : reply.body
    return Result.succeed({
      calls: callsOf(body.content),
      body: (governance) => ({
        ...body,
        model,
        ...(governance === undefined ? {} : { x_gateway_governance: governance })
      }),
      tokens: tokensOf(objectOf(body.usage)),
      finishReason: textOf(body.stop_reason),
      filtered: isGuarded(body) || isFilter(body.stop_reason)
    })
  },
  protocol: ({ emulated, model }) => messagesProtocol(model, emulated)
}

export const countTokens: Surface<CountRequest, Prepared, MessagesError> = {
  purpose: "count_tokens",
  schema: CountRequest,
  plainNumbers,
  error: messagesError,
  counts: countsOf,
  tools: ({ tools }) => screened(tools),
  guarded: { ...requestTexts, reply: {} },
  prepare: prepare(true),
  *answer(_, { body }) {
    const count = countOf(body.input_tokens)
    return count === undefined
      ? Result.fail(invalidBody)
      : Result.succeed({
          calls: [],
          body: () => JSON.stringify({ input_tokens: count } satisfies typeof CountReply.Type),
          tokens: undefined,
          finishReason: undefined
        })
  }
}
