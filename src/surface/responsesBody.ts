/** What of a responses body is refused, removed or set before it goes upstream (spec: POST /v1/responses; decisions: Responses surface). */
import { Result } from "effect"
import type { ResponsesRequest } from "../api/Responses.ts"
import { type GatewayError, invalid } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import type { ScreenedTool } from "./Surface.ts"

const encrypted = "reasoning.encrypted_content"

/** Tools that run where the caller is. Every other type reaches outside the boundary from inside the cloud. */
const localTools: ReadonlySet<unknown> = new Set(["function", "custom"])

const given = (value: unknown) => value !== undefined && value !== null && value !== false

/** Fields that would make the cloud keep something. */
const refuseState = (body: ResponsesRequest): string | undefined => {
  if (given(body.store)) return "store: must be false or omitted; nothing is stored"
  if (body.previous_response_id !== undefined && body.previous_response_id !== null) {
    return "previous_response_id: not available, because nothing is stored; send the full input each turn"
  }
  if (given(body.background)) return "background: not available, because nothing is stored"
  if (given(body.conversation))
    return "conversation: not available, because nothing is stored; send the full input each turn"
  return undefined
}

/** A tool and where it stands in the body. */
interface PlacedTool {
  readonly tool: JsonObject
  readonly path: string
}

const place = (tools: Json | undefined, path: string): ReadonlyArray<PlacedTool> =>
  arrayOf(tools).map((tool, at) => ({ tool: objectOf(tool), path: `${path}[${at}]` }))

/** Items of some types (`additional_tools`, `tool_search_output`) bring tools along; they are tools like the others. */
const toolsOf = (request: ResponsesRequest, items: ReadonlyArray<JsonObject>): ReadonlyArray<PlacedTool> => [
  ...place(request.tools ?? undefined, "tools"),
  ...items.flatMap((item, at) => place(item.tools, `input[${at}].tools`))
]

const quoted = (value: Json | undefined) => JSON.stringify(value ?? null).slice(0, 80)

/** All of them at once, so that a caller with several mends its request once. */
const refuseTools = (tools: ReadonlyArray<PlacedTool>): string | undefined => {
  const refused = tools.filter(({ tool }) => !localTools.has(tool.type))
  const [first] = refused
  if (first === undefined) return undefined
  const list = refused
    .slice(0, 10)
    .map(
      ({ tool, path }) =>
        `${path} is ${quoted(tool.type)}${textOf(tool.name) === undefined ? "" : ` (${quoted(tool.name)})`}`
    )
  return `${first.path}.type: only tools of type "function" and "custom" are available, because others run inside the cloud and may reach outside the boundary; ${list.join(", ")}. Remove ${refused.length === 1 ? "it" : "them"}, or define functions`
}

/** Parts come inline, whatever their type: a URL would make the cloud fetch it, and nothing is stored to have an ID. */
const refusePart = (part: JsonObject): string | undefined => {
  if (given(part.image_url) && !/^data:/i.test(textOf(part.image_url) ?? "")) {
    return "image_url: must be a data URI; URLs are not fetched"
  }
  if (given(part.file_url)) return "file_url: not available, URLs are not fetched; send the data inline as file_data"
  if (given(part.file_id)) return "file_id: not available, because nothing is stored; send the data inline"
  return undefined
}

const refuseInput = (input: ReadonlyArray<JsonObject>): string | undefined => {
  for (const [at, item] of input.entries()) {
    if (item.type === "item_reference") {
      return `input[${at}]: items cannot be referred to, because nothing is stored; send the item itself`
    }
    for (const field of ["content", "output"]) {
      const value = item[field]
      if (isObject(value)) {
        const refusal = refusePart(value)
        if (refusal !== undefined) return `input[${at}].${field}.${refusal}`
      }
      for (const [index, part] of arrayOf(value).entries()) {
        const refusal = isObject(part) ? refusePart(part) : undefined
        if (refusal !== undefined) return `input[${at}].${field}[${index}].${refusal}`
      }
    }
  }
  return undefined
}

/**
 * Reasoning items came from here without their encrypted content, so the upstream could not use them; and it would miss
 * them by the IDs of the items beside them.
 */
const withoutReasoning = (input: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const kept = input.filter((item) => item.type !== "reasoning")
  return kept.length === input.length ? input : kept.map(({ id: _, ...item }) => item)
}

const itemsOf = ({ input }: ResponsesRequest): ReadonlyArray<JsonObject> => (typeof input === "string" ? [] : input)

/** The chat format's nesting is for the upstream to refuse, but the screen does not rely on that. */
export const screenedTools = (request: ResponsesRequest): ReadonlyArray<ScreenedTool> =>
  toolsOf(request, itemsOf(request))
    .filter(({ tool }) => tool.type === "function")
    .flatMap(({ tool }) => [tool, objectOf(tool.function)])
    .map(({ name, parameters }) => ({ name: textOf(name) ?? "", schema: parameters }))

/** The body that is sent. */
export const prepareResponses = (request: ResponsesRequest, route: Route): Result.Result<JsonObject, GatewayError> => {
  const items = itemsOf(request)
  const refusal = refuseState(request) ?? refuseTools(toolsOf(request, items)) ?? refuseInput(items)
  if (refusal !== undefined) return Result.fail(invalid(refusal))

  const { previous_response_id: _, background: __, conversation: ___, include, ...rest } = request
  const included = (include ?? []).filter((name) => name !== encrypted)
  const reasoning = objectOf(request.reasoning ?? undefined)
  const body: { [key: string]: Json } = {
    ...rest,
    input: typeof request.input === "string" ? request.input : withoutReasoning(request.input),
    reasoning: { ...reasoning, effort: reasoning.effort ?? route.model.thinking.default },
    store: false
  }
  if (included.length > 0) body.include = included
  return Result.succeed(body)
}
