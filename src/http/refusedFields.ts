/**
 * Fields that a cloud refuses, though the catalog does not list them (docs/decisions.md#fields-that-a-cloud-refuses): a new release of a
 * client sends something new, or a cloud takes less than its documents say. The request is sent again without the field, or with the
 * gateway doing what the field asks for. Where that succeeds, the field is remembered for this deployment for an hour.
 *
 * All callers share what is remembered, and a refusal quotes the caller. So a refusal is read only where it is one of the vendor's known
 * sentences as a whole and names a place of the body that was sent. What is remembered holds for that place in objects of the same kinds,
 * and where the cloud refused a value, for that value only.
 */
import { hash } from "node:crypto"
import { Effect, type Result } from "effect"
import type { Deployment } from "../catalog/Catalog.ts"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Operation } from "../catalog/names.ts"
import { type Route, stripPaths } from "../catalog/Route.ts"
import type { Prepared, Ready } from "../surfaces/Surface.ts"
import { claudeRefusals, geminiRefusals, openaiRefusals, type Paths, type Refusals } from "../vendors/refusals.ts"
import { isObject, type Json, type JsonObject, objectOf } from "../wire/json.ts"
import { inOneTurn, inSlices, type Slices } from "../wire/slices.ts"
import { compileStrip, kindOf, strip } from "../wire/strip.ts"
import type { RequestRecord } from "./RequestRecord.ts"

const maxResent = 3
const rememberedMillis = 3_600_000
/** How many fields are remembered of a deployment, and how many in all. */
const maxOfDeployment = 32
const maxInAll = 256
/** Names in a refusal, and characters of the path that is made of them; all known ones have fewer. */
const maxNames = 20
const maxPath = 300

const vendors: Readonly<Partial<Record<Operation, Refusals>>> = {
  messages: claudeRefusals,
  count: claudeRefusals,
  content: geminiRefusals,
  chat: openaiRefusals,
  responses: openaiRefusals
}

/**
 * The paths in an object that a cloud's names can mean, with the kinds of the objects on them (`tools[custom].defer_loading`). Within a
 * union the cloud names the kind, too (`tools.0.custom.defer_loading`), so a name may be a kind or a field; `tagged`: the kind has been
 * read.
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

type Sent = Pick<Prepared, "bodies" | "operation">

/** Fields that are left out together. */
interface RefusedFields {
  readonly fields: Paths
  /** They are left out of requests with the same context (`contextOf`). */
  readonly context: string
  /** Fields that have their values in the context. */
  readonly valuesOf?: Paths | undefined
}

/** The one field that the names lead to; undefined where they can be read in two ways, or where it may not be left out. */
const located = (
  body: JsonObject,
  names: ReadonlyArray<string>,
  { essential, opaque }: Refusals
): string | undefined => {
  if (names.length > maxNames || essential.has(names.at(-1) ?? "") || names.some((name) => opaque.has(name)))
    return undefined
  const [path, another] = pathsIn(body, names, true)
  return another === undefined && (path?.length ?? 0) <= maxPath ? path : undefined
}

/** The fields of the body that the cloud refused; undefined where it refused no field that can be left out. */
export const refusedIn = (error: GatewayError, sent: Sent): RefusedFields | undefined => {
  if (error.upstreamStatus !== 400 || error.code !== "upstream-invalid") return undefined
  const { bodies, operation } = sent
  const vendor = vendors[operation]
  const part = vendor?.read(error.message)
  const [body] = bodies
  if (vendor === undefined || part === undefined) return undefined
  const path = part.names === undefined ? undefined : located(body, part.names, vendor)
  const groups = path === undefined ? (part.paths ?? []) : [[path]]
  const fields = groups.map((group) => group.filter((one) => holds(body, [one]))).find(({ length }) => length > 0)
  if (fields === undefined) return undefined
  const valuesOf = part.valuesOf === "field" ? fields : part.valuesOf
  return { fields, context: contextOf(sent, valuesOf), valuesOf }
}

const holds = (body: JsonObject, fields: ReadonlyArray<string>): boolean => strip(body, compileStrip(fields)) !== body

/** The route for a request without these fields, beside those that it is without already. */
export const routeWithout = (route: Route, fields: Paths): Route => {
  const refused = new Set([...(route.refused ?? []), ...fields])
  return { ...route, refused, strip: compileStrip([...stripPaths(route.deployment, route.betas), ...refused]) }
}

export interface Learned extends RefusedFields {
  readonly deployment: Deployment
  /** In milliseconds, as `now`. */
  readonly until: number
}

/** What is remembered, oldest first, with one more; beyond the limits the oldest go. */
export const learn = (all: ReadonlyArray<Learned>, one: Learned, now: number): ReadonlyArray<Learned> => {
  const kept = all.filter(
    ({ deployment, context, fields, until }) =>
      until > now && !(deployment === one.deployment && context === one.context && fields.join() === one.fields.join())
  )
  const own = kept.filter(({ deployment }) => deployment === one.deployment)
  const oldest = own.length >= maxOfDeployment ? own[0] : kept.length >= maxInAll ? kept[0] : undefined
  return [...kept.filter((other) => other !== oldest), one]
}

const digestOf = (body: JsonObject, paths: Paths): string => {
  const values: Array<Json> = []
  strip(body, compileStrip(paths), (_, value) => values.push(value))
  return hash("sha256", JSON.stringify(values), "base64")
}

/** What a cloud's refusal depends on: the API, its version and betas, the effort, and the values of these fields. */
const contextOf = ({ bodies: [body], operation }: Sent, valuesOf: Paths | undefined): string => {
  const { anthropic_beta, anthropic_version, reasoning, reasoning_effort } = body
  const effort = reasoning_effort ?? objectOf(reasoning).effort
  return JSON.stringify([operation, anthropic_version, anthropic_beta, effort, valuesOf && digestOf(body, valuesOf)])
}

/** `now` is in milliseconds. */
export const makeRefusalMemory = (now: () => number) => {
  let all: ReadonlyArray<Learned> = []
  return {
    /** Fields of this request that the deployment is known to refuse. Any key may fill the memory, so that looking takes time. */
    *known(deployment: Deployment, sent: Sent): Slices<Paths> {
      const [body] = sent.bodies
      const fields: Array<string> = []
      for (const one of all) {
        if (one.deployment !== deployment || one.until <= now()) continue
        yield
        if (holds(body, one.fields) && one.context === contextOf(sent, one.valuesOf)) fields.push(...one.fields)
      }
      return fields.filter((field) => holds(body, [field]))
    },
    /** A request succeeded without these fields, and would not have with them. */
    remember: (deployment: Deployment, found: ReadonlyArray<RefusedFields>): void => {
      const time = now()
      for (const one of found) all = learn(all, { ...one, deployment, until: time + rememberedMillis }, time)
    }
  }
}

type PrepareFor<P extends Prepared> = (route: Route) => Result.Result<P, GatewayError>

export const makeResend = () => {
  const memory = makeRefusalMemory(() => performance.now())

  /** Prepares the request without the fields that are known to be refused. */
  const prepare = <P extends Prepared>(
    route: Route,
    prepareFor: PrepareFor<P>
  ): Effect.Effect<Ready<P>, GatewayError> =>
    Effect.gen(function* () {
      const prepared = yield* Effect.flatMap(
        inOneTurn(() => prepareFor(route)),
        Effect.fromResult
      )
      const known = yield* inSlices(memory.known(route.deployment, prepared))
      const more = known.filter((field) => !route.refused?.has(field))
      return more.length === 0 ? { route, prepared } : yield* prepare(routeWithout(route, more), prepareFor)
    })

  /** Sends a request, and sends it again without what the cloud refuses. `found`: what it refused so far; remembered once the cloud has answered. */
  const send = <P extends Prepared, A, R>(
    ready: Ready<P>,
    record: RequestRecord,
    prepareFor: PrepareFor<P>,
    call: (ready: Ready<P>) => Effect.Effect<A, GatewayError, R>,
    found: ReadonlyArray<RefusedFields> = []
  ): Effect.Effect<A, GatewayError, R> => {
    const { prepared, route } = ready
    const learned = Effect.tap(call(ready), () =>
      Effect.sync(() => {
        // A stream may have begun with a comment while the cloud is silent.
        const answered = !record.stream || record.firstEventAt !== undefined
        if (answered && found.length > 0) memory.remember(route.deployment, found)
      })
    )
    if (found.length === maxResent) return learned
    return Effect.catch(learned, (error) => {
      const refused = refusedIn(error, prepared)
      // It was left out already, and is refused anyway.
      if (refused === undefined || refused.fields.some((field) => route.refused?.has(field))) return Effect.fail(error)
      return Effect.flatMap(prepare(routeWithout(route, refused.fields), prepareFor), (again) =>
        send(again, record, prepareFor, call, [...found, refused])
      )
    })
  }

  return { prepare, send }
}
