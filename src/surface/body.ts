/**
 * Reads a request body as JSON: bounded in bytes, time, depth and size of its tree, so that no body can hold up other
 * requests, and exact, so that what passes through is what was sent.
 */
import { isUtf8 } from "node:buffer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Duration, Effect, Result, Schema, SchemaIssue } from "effect"
import type { HttpServerRequest } from "effect/http"
import { parseExact } from "../dialect/exact.ts"
import { GatewayError, invalid } from "../model/GatewayError.ts"
import { bodyRoom, noRoom } from "./bodyRoom.ts"
import { measure } from "./jsonShape.ts"
import { CurrentObservation } from "./Observation.ts"

export { parseExact }

export interface BodyLimits {
  readonly maxBytes: number
  readonly timeout: Duration.Duration
}

/** Bodies above this size are taken in steps, with other requests served in between. */
const largeBytes = 256 * 1024

/** What stands between two steps of the work on a body of this size. */
export const betweenSteps = (bytes: number): Effect.Effect<void> => (bytes > largeBytes ? Effect.yieldNow : Effect.void)

const mediaType = (request: HttpServerRequest.HttpServerRequest): GatewayError | undefined => {
  const [type = "", ...parameters] = (request.headers["content-type"] ?? "").toLowerCase().split(";")
  const unsupported = (message: string) => new GatewayError({ reason: "media-type", message })
  if (type.trim() !== "application/json") return unsupported("Content-Type must be application/json")
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) return unsupported("the charset must be utf-8")
  const encoding = request.headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity") {
    return unsupported("compressed bodies are not accepted: send the JSON without Content-Encoding")
  }
  return undefined
}

const tooLarge = (limit: number) =>
  new GatewayError({ reason: "too-large", message: `the request body is larger than ${limit} bytes` })

const tooSlow = new GatewayError({ reason: "timeout-caller", message: "the request body took too long" })
const brokenOff = invalid("the request body was broken off")

/** Reads the body off the socket. What is left of a refused one is thrown away by the server. */
const readBytes = (
  request: HttpServerRequest.HttpServerRequest,
  { maxBytes, timeout }: BodyLimits,
  fits: (bytes: number) => boolean
) =>
  Effect.callback<Buffer, GatewayError>((resume) => {
    if (Number(request.headers["content-length"]) > maxBytes) return resume(Effect.fail(tooLarge(maxBytes)))
    const incoming = NodeHttpServerRequest.toIncomingMessage(request)
    const chunks: Array<Buffer> = []
    let size = 0
    const finish = (result: Effect.Effect<Buffer, GatewayError>) => {
      clearTimeout(timer)
      incoming.off("data", take).off("end", end).off("error", cut).off("close", cut)
      resume(result)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) finish(Effect.fail(tooLarge(maxBytes)))
      else if (fits(chunk.length)) chunks.push(chunk)
      else finish(Effect.fail(noRoom))
    }
    const end = () => {
      const [only] = chunks
      finish(Effect.succeed(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size)))
    }
    const cut = () => finish(Effect.fail(brokenOff))
    const timer = setTimeout(() => finish(Effect.fail(tooSlow)), Duration.toMillis(timeout))
    incoming.on("data", take).on("end", end).on("error", cut).on("close", cut)
    // A caller that asked first is told to go on; Node leaves that to us.
    const response = NodeHttpServerRequest.toServerResponse(request)
    if (request.headers.expect !== undefined && "writeContinue" in response) response.writeContinue()
    return Effect.sync(() => clearTimeout(timer))
  })

const notJson = (error: unknown): GatewayError => {
  const position = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined
  return invalid(
    position === undefined
      ? "the request body is not valid JSON"
      : `the request body is not valid JSON (at character ${position})`
  )
}

const parse = Effect.fnUntraced(function* (bytes: Buffer) {
  if (bytes.length === 0) return yield* invalid("the request body is empty: it must be a JSON object")
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return yield* invalid("the request body must not start with a byte order mark")
  }
  const pause = betweenSteps(bytes.length)
  if (!isUtf8(bytes)) return yield* invalid("the request body is not valid UTF-8")
  yield* pause
  const { problem, unusual } = yield* measure(bytes)
  if (problem !== undefined) return yield* invalid(problem)
  const text = bytes.toString("utf8")
  yield* pause
  // Parsing exactly takes many times longer, which few bodies need.
  const value = yield* Effect.try({
    try: (): unknown => (unusual ? parseExact(text) : JSON.parse(text)),
    catch: notJson
  })
  yield* pause
  return value
})

const issueText = SchemaIssue.makeFormatterStandardSchemaV1()

const named = (type: string): string =>
  /^(object|array)$/.test(type) ? `an ${type}` : /^(string|number|boolean)$/.test(type) ? `a ${type}` : type

/** The library's words in ours. */
const plain = (message: string): string =>
  message
    .replace(/\s+/g, " ")
    .replace(/^Missing key$/, "is required")
    .replace(
      /^Expected (.*?)(?: \| null)?$/,
      (_, types: string) => `must be ${types.split(" | ").map(named).join(" or ")}`
    )
    .slice(0, 500)

/** One line: where, and what would be right. The values themselves are never repeated. */
const describe = (error: Schema.SchemaError): string => {
  const [issue] = issueText(error.issue).issues
  const path = (issue?.path ?? [])
    .map((segment) => (typeof segment === "object" ? segment.key : segment))
    .map((key, at) => (typeof key === "number" ? `[${key}]` : `${at === 0 ? "" : "."}${String(key).slice(0, 100)}`))
    .join("")
  const message = plain(issue?.message ?? "is not valid")
  return path === "" ? `the request body: ${message}` : `${path}: ${message}`
}

/**
 * A reader of bodies of one schema. It answers the body as it was sent, not a copy, once the schema has accepted it:
 * schemas of requests transform nothing.
 */
export const bodyReader = <S extends Schema.ConstraintDecoder<unknown>>(schema: S, limits: BodyLimits) => {
  const decode = Schema.decodeUnknownResult(schema)
  return Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const unsupported = mediaType(request)
    if (unsupported !== undefined) return yield* unsupported
    const small = Number(request.headers["content-length"]) <= largeBytes
    const bytes = yield* readBytes(request, limits, small ? () => true : yield* bodyRoom)
    // Also of a body that is then refused.
    const observation = yield* CurrentObservation
    observation.bytesIn = bytes.length
    const value = yield* parse(bytes)
    const decoded = decode(value)
    yield* betweenSteps(bytes.length)
    if (Result.isFailure(decoded)) return yield* invalid(describe(decoded.failure))
    return value as S["Type"]
  })
}
