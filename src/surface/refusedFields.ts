/**
 * Fields that a cloud refuses by name, though the catalog does not know it yet (docs/decisions.md#fields-that-a-cloud-refuses): a
 * new release of a client sends something new, or a cloud takes less than its documents say. The field is left out, the request
 * sent again, and the deployment remembers for an hour.
 */
import type { Deployment } from "../model/Catalog.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import { isObject, type Json, type JsonObject } from "../wire/json.ts"
import { compileStrip } from "../wire/strip.ts"

/** How often one request is sent again. */
export const maxResent = 3
/** How long a deployment remembers, in milliseconds, and how many fields. */
const memory = 3_600_000
const maxFields = 64

/** Stands for system messages among the others, which some models take and some refuse. */
export const systemTurns = "messages[].role.system"

/**
 * What makes a request what it is. Such a field is refused where it stands in the wrong place, which the caller must fix: left
 * out everywhere, it would break the requests of others.
 */
const essential: ReadonlySet<string> = new Set([
  ...["messages", "system", "tools", "tool_choice", "max_tokens", "stream", "thinking", "stop_sequences"],
  ...["temperature", "top_p", "top_k", "model", "anthropic_version", "anthropic_beta"],
  ...[
    "role",
    "content",
    "type",
    "text",
    "source",
    "media_type",
    "data",
    "id",
    "name",
    "input",
    "tool_use_id",
    "is_error"
  ],
  ...["signature", "budget_tokens", "input_schema", "description", "cache_control", "title", "schema", "properties"]
])

/** The words of Anthropic's API, and the older ones of Bedrock; both may stand behind an introduction. */
const extra = /(?:^|[\s:])([\w$-]+(?:\.[\w$-]+)*): Extra inputs are not permitted/
const extraneous = /#\/?([\w/$-]*): extraneous key \[([\w$-]+)\] is not permitted/
const refusedRole = /\brole\b.*(?:\bsystem\b|'user' or 'assistant')|\bsystem\b.*\brole\b/i

/** The names in the refusal, outermost first. */
const namesIn = (message: string): ReadonlyArray<string> | undefined => {
  const [, place, key] = extraneous.exec(message) ?? []
  if (place !== undefined && key !== undefined) return [...place.split("/").filter((name) => name !== ""), key]
  return extra.exec(message)?.[1]?.split(".")
}

/**
 * Where the names lead in the body, as a path of the catalog's kind (`tools[].defer_loading`). The cloud names the kinds of its
 * unions, too (`tools.0.custom.defer_loading`), which are nothing in the body: a name that leads nowhere is passed over.
 */
const pathIn = (value: Json | undefined, names: ReadonlyArray<string>): string | undefined => {
  const [name, ...rest] = names
  if (name === undefined) return undefined
  if (Array.isArray(value)) {
    const inner = /^\d+$/.test(name) ? pathIn(value[Number(name)], rest) : pathIn(value, rest)
    return inner
  }
  if (!isObject(value)) return undefined
  if (Object.hasOwn(value, name)) {
    if (rest.length === 0) return name
    const inner = pathIn(value[name], rest)
    if (inner !== undefined) return `${name}${Array.isArray(value[name]) ? "[]" : ""}.${inner}`
  }
  return pathIn(value, rest)
}

const hasSystemTurns = (body: JsonObject): boolean =>
  Array.isArray(body.messages) && body.messages.some((message) => isObject(message) && message.role === "system")

/** The field of the body that the cloud refused, where it can be left out. */
export const refusedField = (error: GatewayError, body: JsonObject): string | undefined => {
  if (error.upstreamStatus !== 400 || error.code !== "upstream-invalid") return undefined
  const names = namesIn(error.message)
  if (names === undefined) return refusedRole.test(error.message) && hasSystemTurns(body) ? systemTurns : undefined
  if (essential.has(names.at(-1) ?? "")) return undefined
  return pathIn(body, names)
}

export interface RefusedFields {
  /** The route with what its deployment has refused lately. */
  readonly apply: (route: Route) => Route
  /** Remembers a field, for an hour from now. */
  readonly remember: (deployment: Deployment, path: string) => void
}

interface Memory {
  readonly fields: Map<string, number>
  /** Made anew when the fields change. */
  strip: Route["strip"] | undefined
}

/** `now` is in milliseconds. */
export const makeRefusedFields = (now: () => number): RefusedFields => {
  const memories = new WeakMap<Deployment, Memory>()
  const apply = (route: Route): Route => {
    const known = memories.get(route.deployment)
    if (known === undefined) return route
    const time = now()
    for (const [path, until] of known.fields) {
      if (until > time) continue
      known.fields.delete(path)
      known.strip = undefined
    }
    if (known.fields.size === 0) return route
    known.strip ??= compileStrip([...(route.deployment.strip ?? []), ...known.fields.keys()])
    return { ...route, strip: known.strip, refused: known.fields }
  }
  const remember = (deployment: Deployment, path: string): void => {
    const known = memories.get(deployment) ?? { fields: new Map(), strip: undefined }
    memories.set(deployment, known)
    known.fields.delete(path)
    const [oldest] = known.fields.keys()
    if (known.fields.size >= maxFields && oldest !== undefined) known.fields.delete(oldest)
    known.fields.set(path, now() + memory)
    known.strip = undefined
  }
  return { apply, remember }
}
