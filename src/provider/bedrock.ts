/** Amazon Bedrock: InvokeModel for Claude and Titan, the OpenAI-compatible route for GPT (upstreams: AWS Bedrock). */
import { Effect, Layer, Option } from "effect"
import type { Route } from "../model/Route.ts"
import { type BedrockSettings, Clouds } from "../Settings.ts"
import { aws } from "./credentials/aws.ts"
import { openStream, sendJson, spanOf } from "./exchange.ts"
import { eventStream } from "./framing/eventStream.ts"
import { sse } from "./framing/sse.ts"
import { type Body, type Operation, Provider, type Reply } from "./Provider.ts"
import { makeScrub, malformed, refusal } from "./refusal.ts"
import { type Call, Upstream } from "./Upstream.ts"

/** Semantics of Anthropic's API version 2023-06-01; the 2026-10-21 one refuses sampling parameters. */
const anthropicVersion = "bedrock-2023-05-31"

const host = ({ fips }: BedrockSettings, region: string) =>
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
  return { input: { invokeModel: { body: Buffer.from(JSON.stringify(invoke)).toString("base64") } } }
}

const bodyOf = (operation: Operation, body: Body): Body => {
  if (operation === "messages") return invokeBody(body)
  return operation === "count" ? countBody(body) : body
}

/** `{inputTokens}` in the words of the messages format. */
const countReply = (reply: Reply): Effect.Effect<Reply, typeof malformed> => {
  const count =
    typeof reply.body === "object" && reply.body !== null ? Reflect.get(reply.body, "inputTokens") : undefined
  return typeof count === "number"
    ? Effect.succeed({ ...reply, body: { input_tokens: count } })
    : Effect.fail(malformed)
}

export const bedrock = Layer.effect(
  Provider,
  Effect.gen(function* () {
    const settings = yield* Effect.flatMap(Clouds, ({ bedrock }) => Effect.fromOption(bedrock))
    const upstream = yield* Upstream
    const credential = yield* aws({
      region: settings.region,
      fips: settings.fips,
      bearerToken: Option.getOrUndefined(settings.bearerToken),
      keys: Option.getOrUndefined(settings.keys)
    })

    const regions = (route: Route) => route.deployment.regions ?? [settings.region]

    const call = (route: Route, operation: Operation, given: Body, stream: boolean): Call => {
      const body = JSON.stringify(bodyOf(operation, given))
      const url = (region: string) =>
        new URL(Option.getOrElse(settings.baseUrl, () => host(settings, region)) + path(route, operation, stream))
      const frames = stream && operation === "messages"
      return {
        cloud: "bedrock",
        regions: regions(route),
        prepare: (region) => {
          const address = url(region)
          const headers = {
            "content-type": "application/json",
            accept: stream ? (frames ? "application/vnd.amazon.eventstream" : "text/event-stream") : "application/json",
            ...(frames ? { "x-amzn-bedrock-accept": "application/json" } : {})
          }
          return Effect.map(credential.sign({ method: "POST", url: address, headers, body, region }), (signed) => ({
            url: address,
            headers: signed
          }))
        },
        refresh:
          Option.isSome(settings.bearerToken) || Option.isSome(settings.keys)
            ? undefined
            : ({ headers }) => credential.refresh(headers),
        body,
        contentType: stream
          ? frames
            ? "application/vnd.amazon.eventstream"
            : "text/event-stream"
          : "application/json",
        refusal: refusal(scrub(route)),
        span: spanOf(route, operation, url(regions(route)[0] ?? settings.region), stream)
      }
    }
    const scrub = (route: Route) =>
      makeScrub([
        [route.deployment.model, route.model.id],
        [route.deployment.countModel ?? "", route.model.id]
      ])

    return Provider.of({
      region: (route) => regions(route)[0] ?? settings.region,
      send: (route, operation, body) => {
        const sent = sendJson(upstream, call(route, operation, body, false))
        return operation === "count" ? Effect.flatMap(sent, countReply) : sent
      },
      stream: (route, operation, body, stopper) =>
        openStream(
          upstream,
          call(route, operation, body, true),
          stopper,
          operation === "messages" ? eventStream : sse,
          scrub(route)
        )
    })
  })
)
