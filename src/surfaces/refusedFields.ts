/**
 * Fields that a cloud refuses by name, though the catalog does not know it yet (docs/decisions.md#fields-that-a-cloud-refuses): a
 * new release of a client sends something new, or a cloud takes less than its documents say. The field is left out and the request
 * sent again. Where that succeeds, the deployment remembers for an hour.
 *
 * The memory is shared by all callers, and a refusal quotes the caller. So a refusal is read only where it is the vendor's whole
 * sentence and names a place of the body that was sent, and what is remembered holds for that place in objects of the same kinds.
 */
import { stripPaths } from "../catalog/betas.ts"
import type { Deployment } from "../catalog/Catalog.ts"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import { isObject, type Json, type JsonObject } from "../wire/json.ts"
import { compileStrip, kindOf, strip } from "../wire/strip.ts"
import type { Prepared } from "./Surface.ts"

/** How often one request is sent again. */
export const maxResent = 3
/** How long a field is remembered, in milliseconds. */
const memory = 3_600_000
/** How many fields are remembered of a deployment, and how many in all. */
const maxOfDeployment = 32
const maxInAll = 256
/** Names in a refusal, and characters of the path that is made of them; all known ones have fewer. */
const maxNames = 20
const maxPath = 300

/** Stands for system messages among the others, which some models take and some refuse. */
export const systemTurns = "messages[system].role"

/**
 * What makes a request what it is: all that the contract requires somewhere, and what would change the reply unnoticed. Such a field
 * is refused where it stands in the wrong place, which the caller must correct: the refusal is the answer.
 */
const essential: ReadonlySet<string> = new Set([
  ...["model", "messages", "max_tokens", "role", "content", "type", "text", "source", "media_type", "data", "title"],
  ...["id", "name", "input", "tool_use_id", "thinking", "signature", "budget_tokens", "input_schema", "schema"],
  ...["system", "tools", "tool_choice", "stream", "stop_sequences", "temperature", "top_p", "top_k", "is_error"],
  ...["anthropic_version", "anthropic_beta", "description", "cache_control", "properties"]
])
/** What is below these is the caller's own: schemas, and arguments of calls. */
const opaque: ReadonlySet<string> = new Set(["input_schema", "input", "schema"])

/** The whole sentence of Anthropic's API, of Bedrock before it, and of both about the role (docs/upstreams.md#refused-fields). */
const extra = /^(?:The model returned the following errors: )?([\w$-]+(?:\.[\w$-]+)*): Extra inputs are not permitted$/
const extraneous =
  /^(?:The model returned the following errors: )?(?:Malformed input request: )?#((?:\/[\w$-]+)*)\/?: extraneous key \[([\w$-]+)\] is not permitted(?:, please reformat your input and try again\.)?$/
const refusedRole =
  /^(?:The model returned the following errors: )?(?:messages\.\d+\.role: Input should be 'user' or 'assistant'|messages: Unexpected role "system"\. The Messages API accepts a top-level `system` parameter, not "system" as an input message role\.|role 'system' is not supported on this model)$/

/** The names in the refusal, outermost first. */
const namesIn = (message: string): ReadonlyArray<string> => {
  const [, pointer, key] = extraneous.exec(message) ?? []
  if (pointer !== undefined && key !== undefined) return [...pointer.split("/").slice(1), key]
  return extra.exec(message)?.[1]?.split(".") ?? []
}

/**
 * Where the names lead in an object, as paths with the kinds of what they pass (`tools[custom].defer_loading`). Within a union the
 * cloud names the kind, too (`tools.0.custom.defer_loading`), so that a name can be read in two ways; `tagged`: not this one.
 */
const pathsIn = (
  object: JsonObject,
  [name, ...rest]: ReadonlyArray<string>,
  tagged: boolean
): ReadonlyArray<string> => {
  if (name === undefined) return []
  const asKind = !tagged && name === (object.type ?? "custom") ? pathsIn(object, rest, true) : []
  if (!Object.hasOwn(object, name)) return asKind
  return [...(rest.length === 0 ? [name] : pathsBelow(name, object[name], rest)), ...asKind]
}

const pathsBelow = (name: string, value: Json | undefined, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [index = "", ...rest] = names
  const inArray = Array.isArray(value)
  const inner = inArray ? (/^\d{1,9}$/.test(index) ? value[Number(index)] : undefined) : value
  if (!isObject(inner)) return []
  const kind = kindOf(inner)
  if (!/^[\w-]+$|^\?$/.test(kind)) return []
  const before = inArray ? `${name}[${kind}]` : `${name}{${kind}}`
  return pathsIn(inner, inArray ? rest : names, false).map((path) => `${before}.${path}`)
}

/** The field of the body that the cloud refused, where it can be left out. */
export const refusedField = (error: GatewayError, body: JsonObject): string | undefined => {
  if (error.upstreamStatus !== 400 || error.code !== "upstream-invalid") return undefined
  if (refusedRole.test(error.message)) return holds(body, [systemTurns]) ? systemTurns : undefined
  const names = namesIn(error.message)
  if (names.length > maxNames || essential.has(names.at(-1) ?? "") || names.some((name) => opaque.has(name)))
    return undefined
  const [path, another] = pathsIn(body, names, true)
  return another === undefined && (path?.length ?? 0) <= maxPath ? path : undefined
}

const holds = (body: JsonObject, fields: ReadonlyArray<string>): boolean => strip(body, compileStrip(fields)) !== body

/** The route for a request without these fields. */
export const without = (route: Route, fields: ReadonlySet<string>): Route =>
  fields.size === 0
    ? route
    : { ...route, refused: fields, strip: compileStrip([...stripPaths(route.deployment, route.betas), ...fields]) }

export interface Learned {
  readonly deployment: Deployment
  /** What else decides which fields a cloud takes. */
  readonly context: string
  readonly field: string
  /** In milliseconds, as `now`. */
  readonly until: number
}

/** What is remembered, oldest first, with one more field; the oldest give way. */
export const learn = (all: ReadonlyArray<Learned>, one: Learned, now: number): ReadonlyArray<Learned> => {
  const kept = all.filter(
    ({ deployment, context, field, until }) =>
      until > now && !(deployment === one.deployment && context === one.context && field === one.field)
  )
  const own = kept.filter(({ deployment }) => deployment === one.deployment)
  const oldest = own.length >= maxOfDeployment ? own[0] : kept.length >= maxInAll ? kept[0] : undefined
  return [...kept.filter((other) => other !== oldest), one]
}

/** The endpoint, the version of the API, and the betas: with others, a field may be taken. */
const contextOf = ({ bodies: [body], operation }: Sent): string =>
  JSON.stringify([operation, body?.anthropic_version, body?.anthropic_beta])

type Sent = Pick<Prepared, "bodies" | "operation">

export interface RefusedFields {
  /** What of this request the deployment is known to refuse. */
  readonly known: (deployment: Deployment, sent: Sent) => ReadonlyArray<string>
  /** A request succeeded without these fields, and would not have with them. */
  readonly remember: (deployment: Deployment, sent: Sent, fields: Iterable<string>) => void
}

const none: ReadonlyArray<string> = []

/** `now` is in milliseconds. */
export const makeRefusedFields = (now: () => number): RefusedFields => {
  let all: ReadonlyArray<Learned> = []
  return {
    known: (deployment, sent) => {
      const [body] = sent.bodies
      if (all.length === 0 || body === undefined) return none
      const [time, context] = [now(), contextOf(sent)]
      const fields = all
        .filter((one) => one.deployment === deployment && one.context === context && one.until > time)
        .map(({ field }) => field)
      return holds(body, fields) ? fields.filter((field) => holds(body, [field])) : none
    },
    remember: (deployment, sent, fields) => {
      const [time, context] = [now(), contextOf(sent)]
      for (const field of fields) all = learn(all, { deployment, context, field, until: time + memory }, time)
    }
  }
}
