/** Amazon Bedrock: InvokeModel for Claude and Titan, the OpenAI-compatible route for GPT (docs/upstreams.md#amazon-bedrock). */
import { Effect, Layer, Option } from "effect"
import type { GatewayError } from "../model/GatewayError.ts"
import { withoutMetrics } from "../model/invocationMetrics.ts"
import type { Operation, Route } from "../model/Route.ts"
import { Clouds } from "../Settings.ts"
import type { BedrockSettings } from "../settings/clouds.ts"
import { mapNow } from "../wire/now.ts"
import { base64Json } from "../wire/print.ts"
import { sse } from "../wire/sseDecoder.ts"
import { spanOf } from "./callAttributes.ts"
import { aws } from "./credentials/aws.ts"
import { faultError, makeScrub, malformed } from "./fault.ts"
import { eventStream, type Known } from "./framing/eventStream.ts"
import { perKind } from "./kinds.ts"
import { Outgoing } from "./Outgoing.ts"
import { type Ask, type Body, Provider, type Reply } from "./Provider.ts"
import { makeTargets } from "./Target.ts"
import { type Call, Upstream } from "./Upstream.ts"

/** Semantics of Anthropic's API version 2023-06-01; the 2026-10-21 one refuses sampling parameters. */
const anthropicVersion = "bedrock-2023-05-31"

const framesType = "application/vnd.amazon.eventstream"

/** Where a region is reached. */
export const host = ({ fips }: BedrockSettings, region: string) =>
  `https://bedrock-runtime${fips ? "-fips" : ""}.${region}.amazonaws.com`

const path = (route: Route, operation: Operation, stream: boolean) => {
  switch (operation) {
    case "chat":
    case "responses":
      return `/openai/v1/${operation === "chat" ? "chat/completions" : "responses"}`
    case "count":
      return `/model/${encodeURIComponent(route.deployment.countModel ?? route.deployment.model)}/count-tokens`
    default:
      return `/model/${encodeURIComponent(route.deployment.model)}/invoke${stream ? "-with-response-stream" : ""}`
  }
}

/** InvokeModel names the model and the streaming in the address, and refuses them in the body. */
const invokeBody = ({ model: _, stream: __, ...rest }: Body): Body => ({ anthropic_version: anthropicVersion, ...rest })

/** CountTokens wants the whole invoke body, which must have a `max_tokens`; the count does not depend on it. */
const countBody = (body: Body): Body => {
  const thinking = body.thinking
  const budget = typeof thinking === "object" && thinking !== null ? Reflect.get(thinking, "budget_tokens") : undefined
  const invoke = { ...invokeBody(body), max_tokens: typeof budget === "number" ? budget + 1 : 1 }
  return { input: { invokeModel: { body: base64Json(invoke) } } }
}

const bodyOf = (operation: Operation, body: Body): Body => {
  if (operation === "messages") return invokeBody(body)
  return operation === "count" ? countBody(body) : body
}

/** Bedrock's words for a count and its own additions to a message, in the words of the messages format. */
const native = (operation: Operation, reply: Reply): Effect.Effect<Reply, GatewayError> => {
  if (operation === "messages") {
    const body = withoutMetrics(reply.body)
    return Effect.succeed(body === reply.body ? reply : { ...reply, body })
  }
  if (operation !== "count") return Effect.succeed(reply)
  const count = reply.body.inputTokens
  if (typeof count === "number") return Effect.succeed({ ...reply, body: { input_tokens: count } })
  reply.span.fail(malformed)
  reply.span.end()
  return Effect.fail(malformed)
}

/** What is configured, or the AWS default chain. */
export const credentialOf = ({ bearerToken, fips, keys, region }: BedrockSettings) =>
  aws({ region, fips, bearerToken: Option.getOrUndefined(bearerToken), keys: Option.getOrUndefined(keys) })

export const bedrock = Layer.effect(
  Provider,
  Effect.gen(function* () {
    const settings = yield* Effect.flatMap(Clouds, ({ bedrock }) => Effect.fromOption(bedrock))
    const upstream = yield* Upstream
    const credential = yield* credentialOf(settings)

    const regions = (route: Route) => route.deployment.regions ?? [settings.region]

    const target = makeTargets({
      cloud: "bedrock",
      baseUrl: Option.getOrUndefined(settings.baseUrl),
      place: (route, operation, stream, region) => ({
        origin: host(settings, region),
        path: path(route, operation, stream)
      })
    })

    const scrub = (route: Route) =>
      makeScrub([
        [route.deployment.model, route.model.id],
        [route.deployment.countModel ?? "", route.model.id]
      ])
    const kind = perKind((route, operation, stream) => {
      const framed = stream && operation === "messages"
      const accept = framed ? framesType : stream ? "text/event-stream" : "application/json"
      const first = target(route, operation, stream, regions(route)[0] ?? settings.region)
      return {
        accept,
        headers: {
          "content-type": "application/json",
          accept,
          ...(framed ? { "x-amzn-bedrock-accept": "application/json" } : {})
        },
        regions: regions(route),
        scrub: scrub(route),
        span: spanOf(route, operation, first, stream)
      }
    })

    const call = ({ route, operation, body: given, large, asked, stopper, parent }: Ask, stream: boolean): Call => {
      const body = new Outgoing(bodyOf(operation, given), { large, hashed: Option.isNone(settings.bearerToken) })
      const { accept, headers, regions, scrub, span } = kind(route, operation, stream)
      return {
        deployment: route.deployment,
        regions,
        prepare: (region) => {
          const to = target(route, operation, stream, region)
          return mapNow(
            credential.sign({ method: "POST", url: to.url, headers, body: body.signable(), region }),
            (signed) => ({ target: to, headers: signed })
          )
        },
        refresh:
          Option.isSome(settings.bearerToken) || Option.isSome(settings.keys)
            ? undefined
            : ({ headers }) => credential.refresh(headers),
        body,
        contentType: accept,
        scrub,
        vectors: operation === "embeddings",
        span,
        parent,
        asked,
        stopper
      }
    }

    const known: Known = { plain: undefined }
    const frames = () => eventStream(known)

    return Provider.of({
      send: (ask) => Effect.flatMap(upstream.send(call(ask, false)), (reply) => native(ask.operation, reply)),
      stream: (ask) => upstream.stream(call(ask, true), ask.operation === "messages" ? frames : sse),
      faultError: (route, fault) => faultError(fault, scrub(route))
    })
  })
)
