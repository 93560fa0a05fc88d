/** The chat completions surface: one format for models of every vendor (spec: POST /v1/chat/completions). */
import { Effect, type Schema } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { ChatRequest } from "../api/Chat.ts"
import { renderCompletion } from "../dialect/completion.ts"
import { dialectOf } from "../dialect/dialects.ts"
import { parseExact } from "../dialect/exact.ts"
import { strip } from "../dialect/strip.ts"
import { flagCall, governanceOf } from "../governance/flags.ts"
import { internal } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import type { Operation } from "../provider/Provider.ts"
import { betweenSteps, bodyReader } from "./body.ts"
import { chatRewriter } from "./chatStream.ts"
import { servedHeaders } from "./Gate.ts"
import { CurrentObservation, type Observation } from "./Observation.ts"
import { respond } from "./respond.ts"
import { makeServing } from "./serving.ts"
import { streamReply } from "./streamReply.ts"
import { chatTokens, usageAttributes } from "./tokens.ts"

const operations: Readonly<Record<Route["deployment"]["api"], Operation>> = {
  messages: "messages",
  content: "content",
  chat: "chat",
  embeddings: "embeddings"
}

/** How much of what is in a request; never what. */
const countParts = (observation: Observation, chat: ChatRequest) => {
  observation.tools = chat.tools?.length ?? 0
  for (const { content } of chat.messages) {
    if (!Array.isArray(content)) continue
    for (const { type } of content) {
      if (type === "image_url") observation.images++
      else if (type === "file") observation.files++
    }
  }
}

export const chatLayer = HttpApiBuilder.group(
  Api,
  "chat",
  Effect.fn(function* (handlers) {
    const serving = yield* makeServing
    const read = bodyReader(ChatRequest, serving.bodyLimits)

    const complete = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const observation = yield* CurrentObservation
      const chat = yield* read(request)
      countParts(observation, chat)
      const route = yield* serving.admit(chat.model, "chat")
      yield* serving.screen(
        "chat",
        (chat.tools ?? []).map(({ function: { name, parameters } }) => ({ name, schema: parameters }))
      )
      const dialect = dialectOf(route)
      if (dialect === undefined) return yield* internal // the resolver answers chat models only
      const pause = betweenSteps(observation.bytesIn)
      yield* pause
      const said = yield* Effect.fromResult(dialect.request(chat, route))
      yield* pause
      const body = strip(said, route.deployment.strip)
      yield* pause
      yield* serving.hold({
        stream: chat.stream === true,
        maxOutput: chat.max_completion_tokens ?? chat.max_tokens ?? route.model.maxOutputTokens
      })
      const operation = operations[route.deployment.api]
      const provider = serving.providerOf(route)
      const headers = servedHeaders(observation, route, provider, operation)
      const heading = {
        id: `chatcmpl-${observation.id}`,
        created: Math.floor(observation.startedAt / 1000),
        model: chat.model
      }
      if (chat.stream === true) {
        return yield* streamReply({
          open: (stopper) => provider.stream(route, operation, body, stopper),
          rewriter: chatRewriter({
            reader: dialect.stream(route, chat),
            heading,
            includeUsage: chat.stream_options?.include_usage === true,
            observation
          }),
          limits: serving.streamLimits,
          headers,
          watchEnd: serving.watchEnd(observation)
        })
      }
      const reply = yield* serving.whole(provider.send(route, operation, body))
      const answer = yield* Effect.fromResult(dialect.reply(parseExact(reply.text) as Schema.Json, route, chat)).pipe(
        Effect.tapError((error) => Effect.sync(() => reply.span.fail(error)))
      )
      const governance = governanceOf(
        answer.toolCalls.map((call) =>
          flagCall({ id: call.id, name: call.function.name, arguments: call.function.arguments })
        )
      )
      observation.tokens = chatTokens(answer.usage)
      observation.finishReason = answer.finishReason
      observation.flags = governance?.flags.length ?? 0
      reply.span.set(usageAttributes(observation.tokens, answer.finishReason, observation.flags))
      return HttpServerResponse.jsonUnsafe(renderCompletion(answer, { ...heading, governance }), { headers })
    })

    return handlers.handleRaw("completions", ({ request }) => respond(complete(request)))
  })
)
