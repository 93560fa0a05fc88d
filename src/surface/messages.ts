/** The messages surface: native pass-through, with counting (spec: POST /v1/messages, /v1/messages/count_tokens). */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { CountRequest, MessagesRequest } from "../api/Messages.ts"
import { arrayOf, isObject, type Json, numberOf, objectOf, textOf } from "../dialect/json.ts"
import { flagInput, governanceOf } from "../governance/flags.ts"
import { makeScrub, malformed } from "../provider/refusal.ts"
import { bodyReader, parseExact } from "./body.ts"
import { servedHeaders } from "./Gate.ts"
import { prepareMessages } from "./messagesBody.ts"
import { messagesRewriter } from "./messagesStream.ts"
import { CurrentObservation } from "./Observation.ts"
import { respond } from "./respond.ts"
import { makeServing } from "./serving.ts"
import { streamReply } from "./streamReply.ts"
import { messageTokens, usageAttributes } from "./tokens.ts"

/** Flags of the calls in a whole reply (spec: Governance scan). */
const governanceOfContent = (content: Json | undefined) =>
  governanceOf(
    arrayOf(content)
      .filter(isObject)
      .filter((block) => block.type === "tool_use" || block.type === "server_tool_use")
      .map((block) => flagInput({ id: textOf(block.id) ?? "", name: textOf(block.name) ?? "", input: block.input }))
  )

export const messagesLayer = HttpApiBuilder.group(
  Api,
  "messages",
  Effect.fn(function* (handlers) {
    const serving = yield* makeServing
    const readMessages = bodyReader(MessagesRequest, serving.bodyLimits)
    const readCount = bodyReader(CountRequest, serving.bodyLimits)

    const create = Effect.fnUntraced(function* (request: Parameters<typeof readMessages>[0]) {
      const observation = yield* CurrentObservation
      const given = yield* readMessages(request)
      const route = yield* serving.admit(given.model, "messages")
      yield* serving.screen(
        "messages",
        arrayOf(given.tools)
          .filter(isObject)
          .map((tool) => ({ name: textOf(tool.name) ?? "", schema: tool.input_schema }))
      )
      const prepared = yield* Effect.fromResult(
        prepareMessages(given, route, { betaHeader: request.headers["anthropic-beta"], counting: false })
      )
      observation.tools = arrayOf(given.tools).length
      observation.images = prepared.media.images
      observation.files = prepared.media.files
      yield* serving.hold({ stream: given.stream === true, maxOutput: given.max_tokens })
      const provider = serving.providerOf(route)
      const headers = {
        ...servedHeaders(observation, route, provider, "messages"),
        ...(prepared.changes.length === 0 ? {} : { "x-gateway-thinking-adjusted": prepared.changes.join(", ") })
      }
      if (given.stream === true) {
        return yield* streamReply({
          open: (stopper) => provider.stream(route, "messages", prepared.body, stopper),
          rewriter: messagesRewriter({
            model: route.model.id,
            observation,
            scrub: makeScrub([[route.deployment.model, route.model.id]])
          }),
          limits: serving.streamLimits,
          headers,
          watchEnd: serving.watchEnd(observation)
        })
      }
      const { stream: _, ...body } = prepared.body
      const reply = yield* serving.whole(provider.send(route, "messages", body))
      // Exact, because a call is never altered: its input may hold numbers that JavaScript cannot.
      const message = parseExact(reply.text) as Json
      if (!isObject(message) || message.type !== "message") {
        reply.span.fail(malformed)
        return yield* malformed
      }
      const { "amazon-bedrock-invocationMetrics": __, ...native } = message
      const governance = governanceOfContent(native.content)
      const stopReason = textOf(native.stop_reason)
      observation.tokens = messageTokens(objectOf(native.usage))
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
      const given = yield* readCount(request)
      const route = yield* serving.admit(given.model, "count")
      const prepared = yield* Effect.fromResult(
        prepareMessages(given, route, { betaHeader: request.headers["anthropic-beta"], counting: true })
      )
      const provider = serving.providerOf(route)
      const headers = servedHeaders(observation, route, provider, "count")
      const reply = yield* serving.whole(provider.send(route, "count", prepared.body))
      const count = numberOf(objectOf(reply.body).input_tokens)
      if (count === undefined) {
        reply.span.fail(malformed)
        return yield* malformed
      }
      return HttpServerResponse.jsonUnsafe({ input_tokens: count }, { headers })
    })

    return handlers
      .handleRaw("create", ({ request }) => respond(create(request)))
      .handleRaw("countTokens", ({ request }) => respond(countTokens(request)))
  })
)
