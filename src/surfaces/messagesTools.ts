/** Tools of the messages format, judged by who executes them (docs/decisions.md#messages-surface). */
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { isNothing, toolAt } from "./boundary.ts"
import type { ScreenedTool } from "./Surface.ts"

/** Types of tools that pass (`refuseServerTools`); they end in the date of their version. */
const allowedTools = /^(?:custom$|(?:bash|browser|text_editor|computer|memory|str_replace|tool_search_tool)_)/

const isAllowedTool = (type: Json | undefined): boolean =>
  (type ?? undefined) === undefined || (typeof type === "string" && allowedTools.test(type))

/** Fields of tools that run inside the cloud. */
export const serverFields: ReadonlyArray<string> = ["mcp_servers", "container"]

/** Why a tool of the other formats is refused: here one that the caller executes needs no type. */
export const refuseFunctions = (body: JsonObject): string | undefined => {
  const at = arrayOf(body.tools).findIndex((tool) => objectOf(tool).type === "function")
  return at < 0
    ? undefined
    : `tools.${at}.type: must be custom or left out; a tool has name, description and input_schema here, with nothing under function`
}

/**
 * Why a messages request may not be sent, naming every tool, so that the caller fixes it once. Tools that the caller executes pass, and so does the
 * search among tools, which reads only the request; everything else runs inside the vendor's cloud and may reach outside the boundary
 * (docs/decisions.md#messages-surface).
 */
export const refuseServerTools = (body: JsonObject): string | undefined => {
  const refused = arrayOf(body.tools).flatMap((tool, at) =>
    isObject(tool) && !isAllowedTool(tool.type) ? [toolAt(`tools.${at}`, tool)] : []
  )
  const fields = serverFields.filter((field) => !isNothing(body[field]))
  if (refused.length === 0 && fields.length === 0) return undefined
  const named = [...refused.slice(0, 10), ...fields.map((field) => `${field} is given`)].join(", ")
  const many = refused.length + fields.length > 1
  return `tools that run inside the cloud are not available, because they may reach outside the boundary: ${named}. Remove ${many ? "them" : "it"}, or define tools that you execute`
}

/** What the screen reads of a list. */
export const screened = (given: Json | undefined): ReadonlyArray<ScreenedTool> =>
  arrayOf(given)
    .filter(isObject)
    .map((tool) => ({ name: textOf(tool.name) ?? "", schema: tool.input_schema }))
