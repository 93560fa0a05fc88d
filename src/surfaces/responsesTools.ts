/**
 * Tools of the responses format, judged by who executes them (docs/decisions.md#responses-surface). What goes upstream is built
 * here, from fields that are known, so that no definition leaves which the screen has not read.
 */
import { Result } from "effect"
import type { Adjusted } from "../vendors/adjustments.ts"
import { arrayOf, compact, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { quoted, toolAt } from "./boundary.ts"
import type { ScreenedTool } from "./Surface.ts"

const pickOnly = (value: JsonObject, names: ReadonlyArray<string>): JsonObject =>
  compact(Object.fromEntries(names.map((name) => [name, value[name] ?? undefined])))

/** What of the tools that the caller executes may leave. */
const fields: Readonly<Record<string, ReadonlyArray<string>>> = {
  function: ["type", "name", "description", "parameters", "strict", "defer_loading"],
  custom: ["type", "name", "description", "defer_loading"],
  namespace: ["type", "name", "description"],
  local_shell: ["type"],
  apply_patch: ["type"],
  shell: ["type"],
  tool_search: ["type", "execution", "description", "parameters"]
}
/** Those that a namespace may hold. */
const inner: ReadonlySet<string> = new Set(["function", "custom"])

/** A tool as it may leave; undefined for one that runs inside the cloud. */
const build = (tool: JsonObject, isInner: boolean): JsonObject | undefined => {
  const type = textOf(tool.type) ?? ""
  if (!Object.hasOwn(fields, type) || (isInner && !inner.has(type))) return undefined
  const own = pickOnly(tool, fields[type] ?? [])
  if (type === "custom" && isObject(tool.format)) {
    return { ...own, format: pickOnly(tool.format, ["type", "syntax", "definition"]) }
  }
  // The search that is the caller's; the other one is the cloud's.
  if (type === "tool_search") return tool.execution === "client" ? own : undefined
  if (type !== "shell") return own
  // The skills of a shell are texts that lie beside it.
  const { skills, type: where } = objectOf(tool.environment)
  if (where !== "local") return undefined
  const kept = arrayOf(skills).map((skill) => pickOnly(objectOf(skill), ["name", "description", "path"]))
  return { ...own, environment: { type: where, ...(Array.isArray(skills) ? { skills: kept } : {}) } }
}

/** A search that must not reach the web finds nothing inside the boundary: it is left out. */
const isOfflineSearch = (tool: JsonObject): boolean =>
  /^web_search(?:_|$)/.test(textOf(tool.type) ?? "") && tool.external_web_access === false

interface Refused {
  readonly path: string
  readonly tool: JsonObject
}

interface BuiltTools {
  readonly tools: ReadonlyArray<JsonObject>
  /** Those that run inside the cloud. */
  readonly refused: ReadonlyArray<Refused>
}

/** Names fields that were given and do not leave: `tools.function.returns:removed`. */
const reportDropped = (given: Json | undefined, built: Json | undefined, path: string, adjusted: Adjusted): void => {
  if (given === built) return
  if (Array.isArray(given)) {
    const kept = arrayOf(built)
    for (let at = 0; at < given.length; at++) reportDropped(given[at], kept[at], path, adjusted)
    return
  }
  const [fields, kept] = [objectOf(given), objectOf(built)]
  for (const name of Object.keys(fields)) {
    if (fields[name] === null) continue
    if (Object.hasOwn(kept, name)) reportDropped(fields[name], kept[name], `${path}.${name}`, adjusted)
    else adjusted.removed(`${path}.${name}`)
  }
}

/** The tools of one list, and what is wrong with them. `adjusted` takes what of them does not leave. */
export const buildTools = (given: Json | undefined, path: string, adjusted: Adjusted, isInner = false): BuiltTools => {
  const tools: Array<JsonObject> = []
  const refused: Array<Refused> = []
  for (const [at, value] of arrayOf(given).entries()) {
    const tool = objectOf(value)
    const here = `${path}[${at}]`
    const sent = build(tool, isInner)
    if (isOfflineSearch(tool)) adjusted.add(`${tool.type}:removed`)
    else if (sent === undefined) refused.push({ path: here, tool })
    else {
      const held = tool.type === "namespace" ? buildTools(tool.tools, `${here}.tools`, adjusted, true) : undefined
      // Not spread into arguments: callers decide how many there are.
      for (const one of held?.refused ?? []) refused.push(one)
      const own = held === undefined ? undefined : { tools: held.tools }
      const built: JsonObject = { ...sent, ...own }
      tools.push(built)
      // The type says what a tool may hold.
      reportDropped(own === undefined ? tool : { ...tool, ...own }, built, `tools.${built.type}`, adjusted)
    }
  }
  return { tools, refused }
}

/** A function of the chat format, or a choice of one: here its fields stand beside its type. */
const isNested = ({ function: nested, name, type }: JsonObject): boolean =>
  type === "function" && name === undefined && isObject(nested ?? null)

export const refuseNested = (given: Json | undefined): string | undefined => {
  const at = arrayOf(given).findIndex((tool) => isNested(objectOf(tool)))
  return at < 0
    ? undefined
    : `tools[${at}].function: tools are flat here: {"type":"function","name":…,"description":…,"parameters":…}, with nothing under function`
}

/** All of them together, so that a caller with several fixes its request once. */
export const refuseTools = (refused: ReadonlyArray<Refused>): string | undefined => {
  const [first] = refused
  if (first === undefined) return undefined
  const list = refused.slice(0, 10).map(({ tool, path }) => toolAt(path, tool))
  return `${first.path}.type: only tools that the caller executes are available (function, custom, namespace, local_shell, apply_patch, shell with a local environment, and tool_search with the execution client), because others run inside the cloud and may reach outside the boundary; ${list.join(", ")}. Remove ${refused.length === 1 ? "it" : "them"}, or define functions`
}

/**
 * What the screen reads of a list: functions, those of namespaces too, and a search among tools. The chat format's nesting does not leave, but a caller
 * that sends it wants to hear of the name and not of the shape.
 */
export const screened = (given: Json | undefined): ReadonlyArray<ScreenedTool> =>
  arrayOf(given).flatMap((value) => {
    const tool = objectOf(value)
    if (tool.type === "namespace") return screened(tool.tools)
    if (tool.type === "tool_search") return [{ name: "tool_search", schema: tool.parameters }]
    const definitions = tool.type === "function" ? [tool, objectOf(tool.function)] : []
    return definitions.map(({ name, parameters }) => ({
      name: textOf(name) ?? textOf(tool.name) ?? "",
      schema: parameters
    }))
  })

/** What a choice may name: tools that the caller executes, one at a time. */
const choices = Object.keys(fields).filter((type) => type !== "namespace")

/** A tool that a choice names, or why it may not. */
const buildChosen = (tool: JsonObject, path: string): Result.Result<JsonObject, string> => {
  const type = textOf(tool.type) ?? ""
  if (isNested(tool)) {
    return Result.fail(
      `${path}.function: a choice is flat here: {"type":"function","name":…}, with nothing under function`
    )
  }
  return choices.includes(type)
    ? Result.succeed(pickOnly(tool, inner.has(type) ? ["type", "name", "namespace"] : ["type"]))
    : Result.fail(
        `${path}.type: ${quoted(tool.type)} names no tool that the caller executes; it may be ${choices.join(", ")}${path === "tool_choice" ? ", or allowed_tools" : ""}`
      )
}

/** `tool_choice`, from what is known of it, or why it may not leave. `adjusted` takes what of it does not leave. */
export const buildChoice = (given: Json | undefined, adjusted: Adjusted): Result.Result<Json | undefined, string> => {
  if (!isObject(given)) return Result.succeed(given ?? undefined)
  const built =
    given.type === "allowed_tools"
      ? Result.map(
          Result.all(arrayOf(given.tools).map((tool, at) => buildChosen(objectOf(tool), `tool_choice.tools[${at}]`))),
          (tools): JsonObject => ({ ...pickOnly(given, ["type", "mode"]), tools })
        )
      : buildChosen(given, "tool_choice")
  if (Result.isSuccess(built)) reportDropped(given, built.success, "tool_choice", adjusted)
  return built
}
