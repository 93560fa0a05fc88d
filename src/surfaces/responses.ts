/**
 * The responses surface: a thin proxy to cloud C, and what of a body is refused, removed or set before it goes there
 * (docs/api.md#responses, docs/decisions.md#responses-surface).
 */
import { Result } from "effect"
import type { Effort } from "../catalog/Catalog.ts"
import { type GatewayError, invalid } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import { reservedOutput } from "../catalog/Tokens.ts"
import type { ApiError } from "../contract/Errors.ts"
import { ResponsesRequest } from "../contract/Responses.ts"
import { Adjusted } from "../vendors/adjustments.ts"
import { arrayOf, compact, isObject, type Json, type JsonObject, omitNull, textOf, without } from "../wire/json.ts"
import { plainFields } from "../wire/parse.ts"
import { compileStrip, strip } from "../wire/strip.ts"
import { isNothing, refuseCloudFields, refuseOutside } from "./boundary.ts"
import { apiError } from "./errorResponse.ts"
import { answerOf } from "./responsesReply.ts"
import { responsesProtocol } from "./responsesStream.ts"
import { buildChoice, buildTools, refuseNested, refuseTools, screened } from "./responsesTools.ts"
import type { Counts, Prepared, Surface } from "./Surface.ts"

const encrypted = "reasoning.encrypted_content"

const itemsOf = ({ input }: ResponsesRequest): ReadonlyArray<JsonObject> => (typeof input === "string" ? [] : input)

/** Images and files are in the content of messages, and in what tools put out. */
const countsOf = (request: ResponsesRequest): Counts => {
  const media = { images: 0, files: 0, mediaBytes: 0 }
  for (const { content, output } of itemsOf(request)) {
    for (const part of [...arrayOf(content), ...arrayOf(output)]) {
      if (!isObject(part) || (part.type !== "input_image" && part.type !== "input_file")) continue
      media[part.type === "input_image" ? "images" : "files"]++
      media.mediaBytes += (textOf(part.image_url) ?? textOf(part.file_data) ?? "").length
    }
  }
  return { tools: request.tools?.length ?? 0, ...media }
}

/** An item that is nothing but an ID refers to one that the cloud would have kept. */
const refuseReference = (items: ReadonlyArray<JsonObject>): string | undefined => {
  const at = items.findIndex(({ role, type }) => type === undefined && role === undefined)
  return at < 0
    ? undefined
    : `input[${at}]: items cannot be referred to, because nothing is stored; send the item itself`
}

/** Items may bring tools along, as a list. */
const refuseToolLists = (items: ReadonlyArray<JsonObject>): string | undefined => {
  for (const [at, { tools }] of items.entries()) {
    if (tools === undefined || tools === null) continue
    if (!Array.isArray(tools)) return `input[${at}].tools: must be an array`
    const wrong = tools.findIndex((tool) => !isObject(tool))
    if (wrong >= 0) return `input[${at}].tools[${wrong}]: must be an object`
  }
  return undefined
}

/** Fields and items that would have the cloud put what was said into an encrypted item, which does not leave. */
const refuseEncrypted = (body: ResponsesRequest, items: ReadonlyArray<JsonObject>): string | undefined => {
  if (!isNothing(body.context_management)) {
    return "context_management: not available, because compacted items are encrypted and encrypted content is not passed on; shorten the input yourself"
  }
  const at = items.findIndex(({ type }) => type === "compaction" || type === "compaction_trigger")
  return at < 0
    ? undefined
    : `input[${at}].type: ${JSON.stringify(items[at]?.type)} is not available, because encrypted content is not passed on; send the messages themselves`
}

/** What a library made of an item, and where an item came from: no API takes these (docs/upstreams.md#items-of-earlier-replies). */
const added = compileStrip([
  ...["parsed_arguments", "created_by", "provider_data", "providerData"].map((name) => `input[].${name}`),
  ...["parsed", "provider_data", "providerData"].map((name) => `input[].content[].${name}`),
  "input[].output[].created_by"
])

/** The cloud looks for a stored item by its ID. A call is found by its `call_id` and a message has its content, so no ID is needed. */
const withoutId = (item: JsonObject): JsonObject =>
  (item.role ?? item.call_id ?? undefined) === undefined ? item : without(item, ["id"])

/** An item, or a part of one, without nulls: libraries write a field that has no value, also by a name of their own (`async_`). */
const withoutNulls = (part: Json): Json => (isObject(part) ? omitNull(part) : part)

/** The items without what a library made of them. `adjusted` takes what goes. */
const withoutAdded = (items: ReadonlyArray<JsonObject>, adjusted: Adjusted): ReadonlyArray<JsonObject> => {
  const given = items.map((item) =>
    omitNull(Array.isArray(item.content) ? { ...item, content: item.content.map(withoutNulls) } : item)
  )
  const { input } = strip({ input: given }, added, (path) => adjusted.removed(path))
  return Array.isArray(input) ? input : given
}

/** The items without what refers to a stored reply. `adjusted` takes what goes. */
const withoutStored = (items: ReadonlyArray<JsonObject>, adjusted: Adjusted): ReadonlyArray<JsonObject> =>
  items.flatMap((item) => {
    // Without their encrypted content, which never left, the cloud cannot use them.
    if (item.type === "reasoning") {
      adjusted.removed("input.reasoning")
      return []
    }
    const sent = withoutId(item)
    if (sent !== item) adjusted.removed("input.id")
    return [sent]
  })

/** Sampling is refused beside reasoning, so a request with sampling and no reasoning does not get the catalog's effort. */
const reasoningFor = (request: ResponsesRequest, effort: Effort, adjusted: Adjusted): JsonObject | undefined => {
  const { reasoning, temperature, top_p, top_logprobs } = request
  const samples = [temperature, top_p, top_logprobs].some((value) => (value ?? undefined) !== undefined)
  if ((reasoning ?? undefined) !== undefined || effort === "none" || !samples)
    return { ...reasoning, effort: reasoning?.effort ?? effort }
  adjusted.changed("reasoning.effort", effort, "unset")
  return undefined
}

/** What is asked for beside the reply, without what is encrypted. */
const includedIn = ({ include }: ResponsesRequest, adjusted: Adjusted): ReadonlyArray<string> | undefined => {
  const included = (include ?? []).filter((name) => name !== encrypted)
  if (included.length < (include ?? []).length) adjusted.removed(`include.${encrypted}`)
  return included.length === 0 ? undefined : included
}

/** Items without their tools, which are read apart from them. */
const walked = (items: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  items.map((item) => without(item, ["tools"]))

/** Fields of which every value that is taken asks for nothing, and those that are made anew. */
const notPassed = ["background", "context_management", "tools", "tool_choice", "include", "reasoning"]

const prepare = (request: ResponsesRequest, { model }: Route): Result.Result<Prepared, GatewayError> => {
  const adjusted = new Adjusted()
  const items = withoutAdded(itemsOf(request), adjusted)
  const own = buildTools(request.tools ?? undefined, "tools", adjusted)
  const brought = items.map(({ tools }, at) => buildTools(tools, `input[${at}].tools`, adjusted))
  const choice = buildChoice(request.tool_choice, adjusted)
  const refusal =
    refuseCloudFields(request) ??
    refuseReference(items) ??
    refuseToolLists(items) ??
    refuseEncrypted(request, items) ??
    refuseNested(request.tools ?? undefined) ??
    refuseTools([...own.refused, ...brought.flatMap(({ refused }) => refused)]) ??
    (Result.isFailure(choice) ? choice.failure : undefined) ??
    refuseOutside(typeof request.input === "string" ? request : { ...request, input: walked(items) })
  if (refusal !== undefined) return Result.fail(invalid(refusal))

  const { input, stream, tools } = request
  const include = includedIn(request, adjusted)
  const reasoning = reasoningFor(request, model.thinking.default, adjusted)
  const rebuilt = items.map((item, at) =>
    item.tools === undefined ? item : { ...item, tools: brought[at]?.tools ?? [] }
  )
  // A list of which nothing is left is none, and then there is nothing to choose from.
  const noneLeft = own.tools.length === 0 && (tools ?? []).length > 0
  const isChoiceLeft = !noneLeft || brought.some(({ tools }) => tools.length > 0)
  const chosen = Result.getOrUndefined(choice)
  if (!isChoiceLeft && chosen !== undefined) adjusted.removed("tool_choice")
  const body = compact({
    ...without(request, notPassed),
    input: typeof input === "string" ? input : withoutStored(rebuilt, adjusted),
    store: false,
    reasoning,
    tools: noneLeft || !Array.isArray(tools) ? undefined : own.tools,
    tool_choice: isChoiceLeft ? chosen : undefined,
    include
  })
  return Result.succeed({
    operation: "responses",
    bodies: [body],
    stream: stream === true,
    adjusted,
    maxOutput: reservedOutput("responses", body, model)
  })
}

export const responses: Surface<ResponsesRequest, Prepared, ApiError> = {
  purpose: "responses",
  schema: ResponsesRequest,
  // Those that are read stand at the top.
  plainNumbers: plainFields,
  error: apiError,
  counts: countsOf,
  // Items of some types (`additional_tools`, `tool_search_output`) bring tools along; they are tools like the others.
  tools: (request) => [
    ...screened(request.tools ?? undefined),
    ...itemsOf(request).flatMap(({ tools }) => screened(tools))
  ],
  // The arguments of calls, which are passed on as they are.
  texts: (request) =>
    itemsOf(request).flatMap(({ arguments: text }, at) =>
      typeof text === "string" ? [{ text, path: `input[${at}].arguments`, optional: false }] : []
    ),
  guarded: {
    request: { instructions: "system", input: "user", text: "system" },
    others: "arguments",
    // Flags quote destinations out of calls.
    reply: { output: "assistant", x_gateway_governance: "arguments" }
  },
  prepare,
  *answer(_, { bytes, body }, scrub) {
    return answerOf(bytes, body, scrub)
  },
  protocol: (_, scrub) => responsesProtocol(scrub)
}
