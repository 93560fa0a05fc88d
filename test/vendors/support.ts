/** Routes of the shipped catalog, and short ways through a dialect. */
import { readFileSync } from "node:fs"
import { Result, Schema } from "effect"
import { Catalog, type Model } from "../../src/catalog/Catalog.ts"
import type { Cloud } from "../../src/catalog/clouds.ts"
import type { GatewayError } from "../../src/catalog/GatewayError.ts"
import { type Route, shippedBetas, stripPaths } from "../../src/catalog/Route.ts"
import type { UpstreamFault } from "../../src/catalog/UpstreamFault.ts"
import { ChatRequest } from "../../src/contract/Chat.ts"
import type { Governance } from "../../src/contract/Governance.ts"
import { type ChatAnswer, type chunkWriter, makeUsage, readAnswer } from "../../src/surfaces/chatReply.ts"
import { Adjusted } from "../../src/vendors/adjustments.ts"
import type { Ending, Piece, ReplyReader } from "../../src/vendors/Dialect.ts"
import { dialectOf } from "../../src/vendors/dialects.ts"
import type { Json, JsonObject } from "../../src/wire/json.ts"
import { runNow } from "../../src/wire/slices.ts"
import type { Event } from "../../src/wire/sse.ts"
import { compileStrip } from "../../src/wire/strip.ts"

const catalog = Schema.decodeUnknownSync(Catalog)(
  JSON.parse(readFileSync(new URL("../../src/catalog/catalog.json", import.meta.url), "utf8"))
)

/** A model of the catalog on one of its clouds, with facts changed where a test needs a model that is not there. */
export const routeOf = (id: string, cloud?: Cloud, facts: Partial<Model> = {}): Route => {
  const found = catalog.models.find((model) => model.id === id)
  const deployment = found?.deployments.find((deployment) => cloud === undefined || deployment.cloud === cloud)
  if (found === undefined || deployment === undefined) throw new Error(`no ${id} on ${cloud}`)
  return {
    id: `${id}:il2`,
    model: { ...found, ...facts },
    level: "il2",
    deployment,
    strip: compileStrip(stripPaths(deployment, shippedBetas)),
    betas: shippedBetas
  }
}

export const sonnet = routeOf("claude-sonnet-4-5", "vertex")
export const sonnetBedrock = routeOf("claude-sonnet-4-5", "bedrock")
export const opus = routeOf("claude-opus-4-7", "vertex")
export const opusBedrock = routeOf("claude-opus-4-7", "bedrock")
export const flash = routeOf("gemini-3-flash")
export const azure = routeOf("gpt-5.1")
export const terra = routeOf("gpt-5.6-terra")
export const oss = routeOf("gpt-oss-120b")
export const titan = routeOf("titan-embed-text-v2")

const decode = Schema.decodeUnknownSync(ChatRequest)

/** A request as the surface hands it on: decoded, with one user message unless others are given. */
export const chat = (fields: object): ChatRequest =>
  decode({ model: "m:il2", messages: [{ role: "user", content: "hi" }], ...fields }) as ChatRequest

/** What a dialect makes of a request. */
export interface Said {
  readonly body: JsonObject
  readonly adjusted: ReadonlyArray<string>
}

/** The dialect of a route; a reply answers a plain request unless another is given. */
export const dialect = (route: Route) => {
  const dialect = dialectOf(route)
  if (dialect === undefined) throw new Error("no dialect")
  return {
    request: (chat: ChatRequest, route: Route): Result.Result<Said, GatewayError> => {
      const adjusted = new Adjusted()
      return Result.map(dialect.request(chat, route, adjusted), (body) => ({ body, adjusted: [...adjusted] }))
    },
    reply: (body: JsonObject, route: Route, asked = chat({})): Result.Result<ChatAnswer, UpstreamFault> =>
      runNow(readAnswer(dialect.reader(route, asked), body)),
    stream: (route: Route, asked = chat({})): ReplyReader => dialect.reader(route, asked)
  }
}

/** The upstream's body; throws the refusal. The request is frozen, so that a dialect that changes it throws. */
export const say = (route: Route, fields: object): JsonObject => asked(route, fields).body

/** The same with what was adjusted. */
export const asked = (route: Route, fields: object): Said =>
  Result.getOrThrow(dialect(route).request(deepFreeze(chat(fields)), route))

/** What was adjusted of a request. */
export const adjusted = (route: Route, fields: object): ReadonlyArray<string> => asked(route, fields).adjusted

/** Why something failed; throws if it did not. */
export const failureOf = <E>(result: Result.Result<unknown, E>): E => Result.getOrThrow(Result.flip(result))

export const refusal = (route: Route, fields: object): GatewayError =>
  failureOf(dialect(route).request(chat(fields), route))

export const hear = (route: Route, body: JsonObject): ChatAnswer => Result.getOrThrow(dialect(route).reply(body, route))

export interface Heard {
  readonly pieces: ReadonlyArray<Piece>
  readonly ending: Ending
}

/** An event of JSON, or of text such as `[DONE]`. */
export const eventOf = (data: Json): Event => ({
  event: undefined,
  data: typeof data === "string" ? data : JSON.stringify(data)
})

/** A whole stream. */
export const hearStream = (
  route: Route,
  events: ReadonlyArray<Json>,
  asked?: ChatRequest
): Result.Result<Heard, UpstreamFault> => {
  const reader = dialect(route).stream(route, asked)
  const pieces: Array<Piece> = []
  for (const event of events) {
    const fault = reader.step(eventOf(event), pieces)
    if (fault !== undefined) return Result.fail(fault)
  }
  return Result.map(reader.end(pieces), (ending) => ({ pieces, ending }))
}

/** The JSON texts of a stream's chunks. */
export const chunksOf = (
  writer: ReturnType<typeof chunkWriter>,
  pieces: ReadonlyArray<Piece>,
  ending?: Ending,
  governance?: Governance
): ReadonlyArray<string> => {
  const chunks = pieces.flatMap((piece) => writer.write(piece) ?? [])
  return [writer.role, ...chunks, ...(ending === undefined ? [] : [writer.finish(ending, governance)])]
}

/** What a stream comes to, in the shape of an unstreamed answer. */
export const folded = ({ pieces, ending }: Heard) => ({
  text: pieces.map((piece) => (piece.type === "text" ? piece.text : "")).join(""),
  calls: pieces.flatMap((piece) =>
    piece.type === "call"
      ? [
          {
            name: piece.name,
            extra: piece.extra,
            arguments: pieces
              .map((other) => (other.type === "arguments" && other.index === piece.index ? other.text : ""))
              .join("")
          }
        ]
      : []
  ),
  finishReason: ending.finishReason,
  usage: ending.usage && makeUsage(ending.usage)
})

export const foldedAnswer = (answer: ChatAnswer) => ({
  text: answer.message.content ?? "",
  calls: (answer.message.tool_calls ?? []).map((call) => ({
    name: call.function.name,
    extra: call.extra_content ?? undefined,
    arguments: call.function.arguments
  })),
  finishReason: answer.finishReason,
  usage: makeUsage(answer.usage)
})

/** IDs that the gateway made up, as their order. */
export const withoutRandomIds = <A extends Json>(value: A): A => {
  const seen = new Map<string, string>()
  return JSON.parse(
    JSON.stringify(value).replace(/call_[0-9a-f]{24}/g, (id) => {
      if (!seen.has(id)) seen.set(id, `call_made_up_${seen.size}`)
      return seen.get(id) ?? id
    })
  )
}

const deepFreeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner)
    Object.freeze(value)
  }
  return value
}

export const tool = (name: string, parameters?: JsonObject): JsonObject => ({
  type: "function",
  function: { name, ...(parameters === undefined ? {} : { parameters }) }
})
export const call = (id: string, name: string, args: string, extra?: JsonObject): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: args },
  ...(extra === undefined ? {} : { extra_content: extra })
})
