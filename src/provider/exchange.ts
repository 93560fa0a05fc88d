/** What the three providers share: a call described once, sent as JSON or opened as a stream of events. */
import { Cause, Effect, type Pull, type Schema, type Scope, Stream } from "effect"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import type { Decoder, Event } from "./framing/Event.ts"
import type { Operation, Reply, Streamed } from "./Provider.ts"
import { framingError, malformed, type Scrub } from "./refusal.ts"
import type { ReplyHeaders } from "./replyHeaders.ts"
import type { Call, Stopper, Upstream } from "./Upstream.ts"

/** Names of `gen_ai.operation.name` (OpenTelemetry GenAI conventions). */
const operationNames: Readonly<Record<Operation, string>> = {
  messages: "chat",
  chat: "chat",
  responses: "chat",
  content: "generate_content",
  count: "count_tokens",
  embeddings: "embeddings"
}

/** `gen_ai.provider.name` of each cloud (OpenTelemetry GenAI conventions). */
const providerNames = { vertex: "gcp.vertex_ai", bedrock: "aws.bedrock", azure: "azure.ai.openai" } as const

/** What the span of an upstream call says from its start. */
export const spanOf = (route: Route, operation: Operation, address: URL, stream: boolean): Call["span"] => {
  const name = operationNames[operation]
  return {
    name: `${name} ${route.model.id}`,
    attributes: {
      "gen_ai.operation.name": name,
      "gen_ai.provider.name": providerNames[route.deployment.cloud],
      "gen_ai.request.model": route.model.id,
      "gen_ai.request.stream": stream,
      "server.address": address.hostname,
      "server.port": Number(address.port) || (address.protocol === "https:" ? 443 : 80),
      "gateway.level": route.level,
      "gateway.deployment": route.deployment.model
    }
  }
}

const requestIdHeaders = ["x-amzn-requestid", "request-id", "apim-request-id", "x-request-id"] as const
const requestId = (headers: ReplyHeaders) => {
  for (const name of requestIdHeaders) {
    const value = headers[name]
    if (value !== undefined) return value.slice(0, 200)
  }
  return undefined
}

type Service = Upstream["Service"]

export const sendJson = (upstream: Service, call: Call): Effect.Effect<Reply, GatewayError, Scope.Scope> =>
  Effect.flatMap(upstream.text(call), ({ body: text, region, headers, span }) => {
    const body = parseReply(text)
    if (body === undefined) {
      span.fail(malformed)
      return Effect.fail(malformed)
    }
    span.set(responseAttributes(body))
    return Effect.succeed({ region, span, requestId: requestId(headers), body, text })
  })

/**
 * `gen_ai.response.*` of a whole reply or the first event of a stream, in the words of any of the vendors. Only these fields
 * of the vendors' own: nothing of what a model said.
 */
const responseAttributes = (body: Schema.Json): Readonly<Record<string, unknown>> => {
  const fields: object = typeof body === "object" && body !== null ? body : {}
  const inner: unknown = Reflect.get(fields, "message") ?? Reflect.get(fields, "response") ?? fields
  const read = (name: string) => {
    const value: unknown = typeof inner === "object" && inner !== null ? Reflect.get(inner, name) : undefined
    return typeof value === "string" && value !== "" ? value.slice(0, 100) : undefined
  }
  return {
    "gen_ai.response.model": read("model") ?? read("modelVersion"),
    "gen_ai.response.id": read("id") ?? read("responseId")
  }
}

/** Longest first event that is looked into, in characters; a response event may repeat the whole request. */
const maxFirstEvent = 64 * 1024

/** `undefined` for what is not a JSON object. */
const parseReply = (text: string): Schema.Json | undefined => {
  try {
    const value: Schema.Json = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The events of a stream: one effect a network chunk, whatever it holds. */
export const openStream = (
  upstream: Service,
  call: Call,
  stopper: Stopper,
  makeDecoder: () => Decoder,
  scrub: Scrub
): Effect.Effect<Streamed, GatewayError, Scope.Scope> =>
  Effect.map(upstream.open(call, stopper), ({ next, region, headers, span }) => {
    const decoder = makeDecoder()
    let noted = false
    let broken: GatewayError | undefined

    const note = (event: Event) => {
      noted = true
      if (event.data.length > maxFirstEvent) return
      const body = parseReply(event.data)
      if (body !== undefined) span.set(responseAttributes(body))
    }
    const pull: Pull.Pull<readonly [Events, ...Array<Events>], GatewayError> = Effect.suspend(() =>
      broken === undefined ? Effect.flatMap(next, read) : Effect.fail(broken)
    )
    /** Events before a failure are not lost; a chunk that completes none still shows that the upstream is alive. */
    const read = (chunk: Uint8Array | undefined): typeof pull => {
      const { events, failure } = chunk === undefined ? decoder.end() : decoder.feed(chunk)
      const [first] = events
      if (!noted && first !== undefined) note(first)
      if (failure !== undefined) {
        broken = framingError(scrub)(failure)
        span.fail(broken)
      }
      if (first === undefined && broken !== undefined) return Effect.fail(broken)
      return first === undefined && chunk === undefined ? Cause.done() : Effect.succeed([events])
    }
    return { region, span, requestId: requestId(headers), events: Stream.fromPull(Effect.succeed(pull)) }
  })

type Events = ReadonlyArray<Event>
