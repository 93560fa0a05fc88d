/** The messages surface: native pass-through, with counting (spec: POST /v1/messages, /v1/messages/count_tokens). */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { CountRequest, MessagesRequest } from "../api/Messages.ts"
import { flagInput, governanceOf } from "../governance/flags.ts"
import { screenTools } from "../governance/screen.ts"
import { type GatewayError, invalid } from "../model/GatewayError.ts"
import type { Body } from "../provider/Provider.ts"
import { malformed } from "../provider/refusal.ts"
import { Settings } from "../Settings.ts"
import { bodyReader } from "./body.ts"
import { cloudProviders } from "./cloudProviders.ts"
import { Gate, servedHeaders } from "./Gate.ts"
import { prepareMessages } from "./messagesBody.ts"
import { messagesRewriter, tokensOf, usageAttributes } from "./messagesStream.ts"
import { CurrentObservation } from "./Observation.ts"
import { respond } from "./respond.ts"
import { ceilingError, streamReply } from "./streamReply.ts"

type Fields = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
const string = (value: unknown): string => (typeof value === "string" ? value : "")

/** Flags of the calls in a whole reply (spec: Governance scan). */
const governanceOfContent = (content: unknown) =>
  governanceOf(
    listOf(content)
      .filter(isObject)
      .filter((block) => block.type === "tool_use" || block.type === "server_tool_use")
      .map((block) => flagInput({ id: string(block.id), name: string(block.name), input: block.input }))
  )

export const messagesLayer = HttpApiBuilder.group(
  Api,
  "messages",
  Effect.fn(function* (handlers) {
    const settings = yield* Settings
    const gate = yield* Gate
    const providerOf = yield* cloudProviders
    const limits = { maxBytes: settings.maxBodyBytes, timeout: settings.bodyTimeout }
    const readMessages = bodyReader(MessagesRequest, limits)
    const readCount = bodyReader(CountRequest, limits)
    const streamLimits = {
      heartbeat: settings.heartbeat,
      idle: settings.streamIdleTimeout,
      ceiling: settings.streamCeiling
    }

    /** Off unless the operator asks for it (decisions: Messages surface). */
    const screen = (body: Body): Effect.Effect<void, GatewayError> => {
      if (!settings.screenSurfaces.has("messages")) return Effect.void
      const tools = listOf(body.tools)
        .filter(isObject)
        .map((tool) => ({ name: string(tool.name), schema: tool.input_schema }))
      const refusal = screenTools(tools, settings.screenMode)
      return refusal === undefined ? Effect.void : Effect.fail(invalid(refusal.message))
    }

    const create = Effect.fnUntraced(function* (request: Parameters<typeof readMessages>[0]) {
      const observation = yield* CurrentObservation
      observation.surface = "messages"
      const { value: given, bytes } = yield* readMessages(request)
      observation.bytesIn = bytes
      const route = yield* gate.admit(given.model, "messages")
      yield* screen(given)
      const prepared = yield* Effect.fromResult(
        prepareMessages(given, route, { betaHeader: request.headers["anthropic-beta"], counting: false })
      )
      observation.tools = listOf(given.tools).length
      observation.images = prepared.media.images
      observation.files = prepared.media.files
      const provider = providerOf(route)
      const headers = {
        "x-gateway-served-model": route.model.id,
        ...servedHeaders(route, provider, "messages"),
        ...(prepared.changes.length === 0 ? {} : { "x-gateway-thinking-adjusted": prepared.changes.join(", ") })
      }
      if (given.stream === true) {
        return yield* streamReply({
          open: provider.stream(route, "messages", prepared.body),
          rewriter: messagesRewriter({ model: route.model.id, observation, scrub: (message) => message }),
          limits: streamLimits,
          headers
        })
      }
      const { stream: _, ...body } = prepared.body
      const reply = yield* provider
        .send(route, "messages", body)
        .pipe(Effect.timeoutOrElse({ duration: settings.requestCeiling, orElse: () => Effect.fail(ceilingError) }))
      observation.region = reply.region
      observation.upstreamRequestId = reply.requestId
      const message = reply.body
      if (!isObject(message) || message.type !== "message") return yield* malformed
      const { "amazon-bedrock-invocationMetrics": __, ...native } = message
      const governance = governanceOfContent(native.content)
      const stopReason = string(native.stop_reason)
      observation.tokens = tokensOf(isObject(native.usage) ? native.usage : {})
      observation.finishReason = stopReason
      observation.flags = governance?.flags.length ?? 0
      reply.span.set(usageAttributes(observation.tokens, stopReason, observation.flags))
      return HttpServerResponse.jsonUnsafe(
        { ...native, model: route.model.id, ...(governance === undefined ? {} : { x_gateway_governance: governance }) },
        { headers }
      )
    })

    const countTokens = Effect.fnUntraced(function* (request: Parameters<typeof readCount>[0]) {
      const observation = yield* CurrentObservation
      observation.surface = "messages"
      observation.counting = true
      const { value: given, bytes } = yield* readCount(request)
      observation.bytesIn = bytes
      const route = yield* gate.admit(given.model, "count")
      const prepared = yield* Effect.fromResult(
        prepareMessages(given, route, { betaHeader: request.headers["anthropic-beta"], counting: true })
      )
      const provider = providerOf(route)
      const reply = yield* provider
        .send(route, "count", prepared.body)
        .pipe(Effect.timeoutOrElse({ duration: settings.requestCeiling, orElse: () => Effect.fail(ceilingError) }))
      observation.region = reply.region
      observation.upstreamRequestId = reply.requestId
      const count = isObject(reply.body) ? reply.body.input_tokens : undefined
      if (typeof count !== "number") return yield* malformed
      return HttpServerResponse.jsonUnsafe(
        { input_tokens: count },
        { headers: { "x-gateway-served-model": route.model.id, ...servedHeaders(route, provider, "count") } }
      )
    })

    return handlers
      .handleRaw("create", ({ request }) => respond(create(request)))
      .handleRaw("countTokens", ({ request }) => respond(countTokens(request)))
  })
)
