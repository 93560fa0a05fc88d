/**
 * Reads a request body as JSON: bounded in bytes, time, depth and size of its tree, so that no body can hold up other
 * requests, and exact, so that what passes through is what was sent.
 */
import { isUtf8 } from "node:buffer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Duration, Effect, identity, Result, Schema, SchemaIssue } from "effect"
import type { HttpServerRequest } from "effect/http"
import { GatewayError, invalid, noRoom } from "../catalog/GatewayError.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import { fitsText } from "../contract/fields.ts"
import { issueWords, plainMessage } from "../contract/words.ts"
import { ServerResponse } from "../nodeHttp.ts"
import type { GatewaySettings } from "../Settings.ts"
import type { NamesModel, Prepared, Surface } from "../surfaces/Surface.ts"
import { type JsonText, keepParsed } from "../vendors/toolCalls.ts"
import { isObject, textOf } from "../wire/json.ts"
import { type Budget, heldPerValue, maxNesting, newBudget, parse, spentOf } from "../wire/parse.ts"
import type { Refusal } from "../wire/parseInSlices.ts"
import { inOneTurn } from "../wire/slices.ts"
import type { RequestRecord } from "./RequestRecord.ts"

type BodyLimits = Pick<GatewaySettings, "bodyTimeout" | "maxBodyBytes">

/** Most bytes of a body for which memory is taken before they come. */
const initialBytes = 16 * 1024

/** Why the body's type or encoding is not accepted; undefined where it is. */
const refuseMediaType = (request: HttpServerRequest.HttpServerRequest): GatewayError | undefined => {
  const [type = "", ...parameters] = (request.headers["content-type"] ?? "").toLowerCase().split(";")
  const unsupported = (message: string) => new GatewayError({ reason: "media-type", message })
  if (type.trim() !== "application/json") return unsupported("Content-Type must be application/json")
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) return unsupported("the charset must be utf-8")
  const encoding = (request.headers["content-encoding"] ?? "").trim().toLowerCase()
  if (encoding !== "" && encoding !== "identity") {
    return unsupported("compressed bodies are not accepted: send the JSON without Content-Encoding")
  }
  return undefined
}

const tooLarge = (limit: number) =>
  new GatewayError({ reason: "too-large", message: `the request body is larger than ${limit} bytes` })

const tooSlow = new GatewayError({ reason: "timeout-caller", message: "the request body took too long" })
const brokenOff = invalid("the request body was broken off")

type BodyRecord = Pick<RequestRecord, "admitBody" | "bytesIn" | "modelId">

/** Sends 100 Continue once the reply has its connection: Node would put it behind the reply's head before that. */
const writeContinue = (response: ReturnType<typeof NodeHttpServerRequest.toServerResponse>) => {
  if (!(response instanceof ServerResponse)) return
  const write = () => {
    if (!response.headersSent) response.writeContinue()
  }
  if (response.socket === null) response.once("socket", write)
  else write()
}

const none = Buffer.alloc(0)

/** Reads the body from the socket. The server discards what is left of a refused one. */
const readBytes = (
  request: HttpServerRequest.HttpServerRequest,
  { bodyTimeout, maxBodyBytes }: BodyLimits,
  record: BodyRecord
) =>
  Effect.callback<Buffer, GatewayError>((resume) => {
    const declared = Number(request.headers["content-length"] ?? 0)
    if (declared > maxBodyBytes) return resume(Effect.fail(tooLarge(maxBodyBytes)))
    const first = Math.min(declared, initialBytes)
    if (!record.admitBody(first)) return resume(Effect.fail(noRoom))
    const incoming = NodeHttpServerRequest.toIncomingMessage(request)
    // All of them, because a chunk that is kept takes hundreds of bytes, and callers may send one of a single byte.
    let bytes = Buffer.allocUnsafe(first)
    let size = 0
    let over = false
    // The listeners stay, so that what is left of a refused body is discarded. They hold nothing of it, for the reply may be a long stream.
    const finish = (result: Effect.Effect<Buffer, GatewayError>) => {
      if (over) return
      over = true
      clearTimeout(timer)
      bytes = none
      resume(result)
    }
    /** To at most twice as much as has come, so that a caller who sends nothing takes no memory from others. */
    const grow = (needed: number): boolean => {
      const length = Math.max(needed, Math.min(2 * needed, declared === 0 ? maxBodyBytes : declared))
      if (!record.admitBody(length - bytes.length)) return false
      const larger = Buffer.allocUnsafe(length)
      bytes.copy(larger, 0, 0, size)
      bytes = larger
      return true
    }
    const onData = (chunk: Buffer) => {
      if (over) return
      const needed = size + chunk.length
      if (needed > maxBodyBytes) return finish(Effect.fail(tooLarge(maxBodyBytes)))
      if (needed > bytes.length && !grow(needed)) return finish(Effect.fail(noRoom))
      chunk.copy(bytes, size)
      size = needed
    }
    const onEnd = () => finish(Effect.succeed(bytes.subarray(0, size)))
    const onClose = () => finish(Effect.fail(brokenOff))
    const timer = setTimeout(() => finish(Effect.fail(tooSlow)), Duration.toMillis(bodyTimeout))
    incoming.on("data", onData).on("end", onEnd).on("error", onClose).on("close", onClose)
    // Node does not send 100 Continue here. HTTP/1.0 has none.
    if (request.headers.expect !== undefined && incoming.httpVersion === "1.1") {
      writeContinue(NodeHttpServerRequest.toServerResponse(request))
    }
    return Effect.sync(() => finish(Effect.interrupt))
  })

/** What is wrong with the bytes, before they are parsed. */
const refuseBytes = (bytes: Buffer): GatewayError | undefined => {
  if (bytes.length === 0) return invalid("the request body is empty: it must be a JSON object")
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return invalid("the request body must not start with a byte order mark")
  }
  return isUtf8(bytes) ? undefined : invalid("the request body is not valid UTF-8")
}

/** Where and why the JSON is refused. Of the JSON it quotes the names of fields only. */
const refusalOf = ({ at, kind, message, path }: Refusal): GatewayError =>
  kind === "syntax"
    ? invalid(`the request body is not valid JSON (at byte ${at})`)
    : invalid(`${path === "" ? "the request body" : path}: ${message}`)

const issueText = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook: issueWords })

/** One line: which field, and what it must be. Values are never quoted. */
const describe = (error: Schema.SchemaError): string => {
  const [issue] = issueText(error.issue).issues
  const path = (issue?.path ?? [])
    .map((segment) => (typeof segment === "object" ? segment.key : segment))
    .map((key, at) => (typeof key === "number" ? `[${key}]` : `${at === 0 ? "" : "."}${String(key).slice(0, 100)}`))
    .join("")
  const message = plainMessage(issue?.message ?? "is not valid").slice(0, 500)
  return path === "" ? `the request body: ${message}` : `${path}: ${message}`
}

/** Decodes parsed JSON by the schema; `A` is the schema's encoded type. Within a slice it pauses where its turn is over (`slices.ts`). */
export const makeBodyDecoder = <A>(schema: Schema.ConstraintDecoder<unknown>) => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (value: unknown): Effect.Effect<A, GatewayError> =>
    Effect.mapBoth(decode(value), { onFailure: (error) => invalid(describe(error)), onSuccess: (body) => body as A })
}

/** Refuses a text that holds too much. The dialect handles one that is no JSON or nested too deep. */
const refusalOfText = (text: JsonText, refusal: Refusal): GatewayError | undefined => {
  if (refusal.kind !== "budget" || text.optional) return undefined
  const inside = refusal.path === "" || refusal.path.startsWith("[") ? refusal.path : `.${refusal.path}`
  return invalid(`${text.path}${inside}: ${refusal.message}`)
}

/** Parses the JSON texts inside a request before a dialect needs them, within what the body has left of its budget. */
const readTexts = Effect.fnUntraced(function* (texts: ReadonlyArray<JsonText>, budget: Budget) {
  for (const text of texts) {
    if (!text.optional && !fitsText(text.text)) return yield* invalid(`${text.path}: at most 2 MiB of UTF-8 text`)
    const own = { tokens: budget.tokens }
    const bytes = Buffer.from(text.text)
    // "written", because they are printed again.
    const read = yield* Effect.result(
      parse(bytes, { budget: own, depth: maxNesting, fields: Number.POSITIVE_INFINITY }, "written")
    )
    const refused = Result.isFailure(read) ? refusalOfText(text, read.failure) : undefined
    if (refused !== undefined) return yield* refused
    // A text that stays a text takes nothing of the budget.
    if (Result.isSuccess(read)) budget.tokens = own.tokens
    const value = Result.isSuccess(read) && isObject(read.success) ? read.success : undefined
    if (text.holder !== undefined) keepParsed(text.holder, value)
  }
})

/** Reads bodies of an endpoint's schema (docs/decisions.md#one-schema-a-request). */
export const bodyReader = <A extends NamesModel>(
  surface: Pick<Surface<A, Prepared, ApiError | MessagesError>, "joinTexts" | "plainNumbers" | "schema" | "texts">,
  limits: BodyLimits & Pick<GatewaySettings, "textArrays">
) => {
  const { schema, texts } = surface
  const numbers = surface.plainNumbers === undefined ? "exact" : "written"
  const plain = surface.plainNumbers ?? identity
  const joined = (limits.textArrays ? surface.joinTexts : undefined) ?? identity
  const decode = makeBodyDecoder<A>(schema)
  const parseBody = Effect.fnUntraced(function* (bytes: Buffer, record: BodyRecord) {
    const refused = refuseBytes(bytes)
    if (refused !== undefined) return yield* refused
    const budget = newBudget()
    const value = yield* Effect.mapError(parse(bytes, { budget }, numbers), refusalOf)
    if (isObject(value)) record.modelId = textOf(value.model)
    const body = yield* yield* inOneTurn(() => decode(isObject(value) ? joined(plain(value)) : value))
    if (texts !== undefined) yield* readTexts(texts(body), budget)
    // The values are held until the cloud answers.
    if (!record.admitBody(heldPerValue * spentOf(budget))) return yield* noRoom
    return body
  })
  /** The size and the model are recorded also where the body is then refused. */
  return (request: HttpServerRequest.HttpServerRequest, record: BodyRecord): Effect.Effect<A, GatewayError> => {
    const unsupported = refuseMediaType(request)
    if (unsupported !== undefined) return Effect.fail(unsupported)
    return Effect.flatMap(readBytes(request, limits, record), (bytes) => {
      record.bytesIn = bytes.length
      return parseBody(bytes, record)
    })
  }
}
