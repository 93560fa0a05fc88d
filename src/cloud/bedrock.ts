/** Amazon Bedrock: InvokeModel for Claude and Titan, the OpenAI-compatible route for GPT (docs/upstreams.md#amazon-bedrock). */
import { Effect, Layer, Option } from "effect"
import { withoutMetrics } from "../catalog/Tokens.ts"
import { Clouds } from "../Settings.ts"
import type { BedrockSettings } from "../settings/clouds.ts"
import { awsFrames } from "../stream/awsFrames.ts"
import { sse } from "../stream/sse.ts"
import type { JsonObject } from "../wire/json.ts"
import { base64Json } from "../wire/print.ts"
import type { CallKind, Cloud, Message } from "./Cloud.ts"
import { aws } from "./credentials/aws.ts"
import { makeScrub } from "./fault.ts"
import { makeProvider } from "./makeProvider.ts"
import { type Body, Provider } from "./Provider.ts"

/** Semantics of Anthropic's API version 2023-06-01; the 2026-10-21 one refuses sampling parameters. */
const anthropicVersion = "bedrock-2023-05-31"

const framesType = "application/vnd.amazon.eventstream"

/** Where a region is reached. */
export const host = ({ fips }: BedrockSettings, region: string) =>
  `https://bedrock-runtime${fips ? "-fips" : ""}.${region}.amazonaws.com`

const path = ({ operation, route, stream }: CallKind) => {
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

const isFramed = ({ operation, stream }: CallKind): boolean => stream && operation === "messages"

const message = (call: CallKind, body: Body): Message => {
  if (call.operation === "count") return { body: countBody(body) }
  if (call.operation !== "messages") return { body }
  return { body: invokeBody(body), headers: isFramed(call) ? { "x-amzn-bedrock-accept": "application/json" } : {} }
}

/** Bedrock's words for a count and its own additions to a message, in the words of the messages format. */
const reply = ({ operation }: CallKind, body: JsonObject): JsonObject | undefined => {
  if (operation === "messages") return withoutMetrics(body)
  if (operation !== "count") return body
  return typeof body.inputTokens === "number" ? { input_tokens: body.inputTokens } : undefined
}

/** What is configured, or the AWS default chain. */
export const credentialOf = ({ bearerToken, fips, keys, region }: BedrockSettings) =>
  aws({ region, fips, bearerToken: Option.getOrUndefined(bearerToken), keys: Option.getOrUndefined(keys) })

export const bedrock = Layer.effect(
  Provider,
  Effect.gen(function* () {
    const settings = yield* Effect.flatMap(Clouds, ({ bedrock }) => Effect.fromOption(bedrock))
    const cloud: Cloud = {
      name: "bedrock",
      endpoint: {
        baseUrl: Option.getOrUndefined(settings.baseUrl),
        regions: ({ route }) => route.deployment.regions ?? [settings.region],
        host: (region) => host(settings, region),
        path,
        message,
        reply
      },
      auth: yield* credentialOf(settings),
      framing: (call) =>
        isFramed(call)
          ? { contentType: framesType, decoder: awsFrames }
          : { contentType: "text/event-stream", decoder: sse },
      scrub: ({ deployment, model }) =>
        makeScrub([
          [deployment.model, model.id],
          [deployment.countModel ?? "", model.id]
        ])
    }
    return yield* makeProvider(cloud)
  })
)
