/**
 * Tools of the messages format by who executes them. Those of the caller pass, and the search among tools, which looks at
 * nothing but the request; everything else runs inside the vendor's cloud and may reach outside the boundary
 * (docs/decisions.md#messages-surface).
 */
import { arrayOf, isObject, type Json, type JsonObject, textOf } from "../wire/json.ts"

/** Types carry the date of their version. */
const callers = /^(?:custom$|(?:bash|text_editor|computer|memory|str_replace|tool_search_tool)_)/

const passes = (type: Json | undefined): boolean =>
  type === undefined || type === null || (typeof type === "string" && callers.test(type))

const isNothing = (value: Json | undefined): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)

const quoted = (value: Json | undefined) => JSON.stringify(value ?? null).slice(0, 80)

const shown = (tool: JsonObject, at: number): string =>
  `tools.${at} is ${quoted(tool.type)}${textOf(tool.name) === undefined ? "" : ` (${quoted(tool.name)})`}`

/** Fields that are tools of this kind, too. */
export const serverFields: ReadonlyArray<string> = ["mcp_servers", "container"]

/** Why a request may not be sent, naming every tool, so that the caller fixes it once. */
export const refuseServerTools = (body: JsonObject): string | undefined => {
  const refused = arrayOf(body.tools).flatMap((tool, at) =>
    isObject(tool) && !passes(tool.type) ? [shown(tool, at)] : []
  )
  const fields = serverFields.filter((field) => !isNothing(body[field]))
  if (refused.length === 0 && fields.length === 0) return undefined
  const named = [...refused.slice(0, 10), ...fields.map((field) => `${field} is given`)].join(", ")
  const many = refused.length + fields.length > 1
  return `tools that run inside the cloud are not available, because they may reach outside the boundary: ${named}. Remove ${many ? "them" : "it"}, or define tools that you execute`
}
