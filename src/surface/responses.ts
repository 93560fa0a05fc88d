/** The responses surface: a thin proxy to cloud C (spec: POST /v1/responses). */
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { ResponsesRequest } from "../api/Responses.ts"
import { makeScrub, malformed } from "../provider/refusal.ts"
import { bodyReader } from "./body.ts"
import { servedHeaders } from "./Gate.ts"
import { CurrentObservation } from "./Observation.ts"
import { respond } from "./respond.ts"
import { prepareResponses } from "./responsesBody.ts"
import { note, responsesRewriter, rewriteResponse } from "./responsesReply.ts"
import { makeServing } from "./serving.ts"
import { streamReply } from "./streamReply.ts"

export const responsesLayer = HttpApiBuilder.group(
  Api,
  "responses",
  Effect.fn(function* (handlers) {
    const serving = yield* makeServing
    const read = bodyReader(ResponsesRequest, serving.bodyLimits)

    const create = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const observation = yield* CurrentObservation
      const given = yield* read(request)
      observation.tools = given.tools?.length ?? 0
      const route = yield* serving.admit(given.model, "responses")
      const { body, tools } = yield* Effect.fromResult(prepareResponses(given, route))
      yield* serving.screen("responses", tools)
      const { max_output_tokens: asked } = given
      const { maxOutputTokens } = route.model
      yield* serving.hold({
        stream: given.stream === true,
        maxOutput: typeof asked === "number" && asked > 0 ? Math.min(asked, maxOutputTokens) : maxOutputTokens
      })
      const provider = serving.providerOf(route)
      const headers = servedHeaders(observation, route, provider, "responses")
      if (given.stream === true) {
        return yield* streamReply({
          open: (stopper) => provider.stream(route, "responses", body, stopper),
          rewriter: responsesRewriter({ observation, scrub: makeScrub([[route.deployment.model, route.model.id]]) }),
          limits: serving.streamLimits,
          headers,
          watchEnd: serving.watchEnd(observation)
        })
      }
      const reply = yield* serving.whole(provider.send(route, "responses", body))
      const rewritten = rewriteResponse(reply.text)
      if (rewritten === undefined) {
        reply.span.fail(malformed)
        return yield* malformed
      }
      note(observation, rewritten.summary, reply.span)
      return HttpServerResponse.text(rewritten.text, { contentType: "application/json", headers })
    })

    return handlers.handleRaw("create", ({ request }) => respond(create(request)))
  })
)
