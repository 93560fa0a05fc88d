/**
 * From an ID and an endpoint to the one deployment that serves it (docs/api.md#model-ids,
 * docs/api.md#which-model-an-endpoint-serves, docs/decisions.md#model-ids-and-levels).
 */
import { Result } from "effect"
import { compileStrip } from "../wire/strip.ts"
import { shippedBetas, stripPaths } from "./betas.ts"
import type { Catalog } from "./Catalog.ts"
import { explainUnresolved, explainWrongKind, type Paths, takes } from "./explain.ts"
import { type GatewayError, invalid } from "./GatewayError.ts"
import { authorizedLevels, levels } from "./Level.ts"
import { formatModelId } from "./ModelId.ts"
import { forbids, type Sites } from "./Partition.ts"
import type { Entry, Purpose, Route } from "./Route.ts"

/** The catalog as this process serves it. Immutable: a reload makes a new one. */
export interface Index {
  /** Fails with `invalid` (400). Constant time for an ID that resolves. */
  readonly resolve: (id: string, purpose: Purpose) => Result.Result<Route, GatewayError>
  /** Every requestable ID, in the catalog's order and then that of `levels`. */
  readonly list: ReadonlyArray<Entry>
  /** What active clouds would serve if they were elsewhere, by reason. */
  readonly leftOut: ReadonlyArray<LeftOut>
}

/** IDs that the partition table or a declaration keeps from being served. */
export interface LeftOut {
  readonly reason: string
  readonly ids: ReadonlyArray<string>
}

/** The message of docs/api.md#counting-tokens. */
const countingUnavailable = "Token counting is not yet available for this model. Estimate client-side for now."

/** Every ID of the catalog, bound to the first deployment that is authorized for its level. */
const bind = (catalog: Catalog): ReadonlyMap<string, Entry> => {
  const bound = new Map<string, Entry>()
  const { betas = shippedBetas } = catalog
  for (const model of catalog.models) {
    const candidates = model.deployments.map((deployment) => ({
      deployment,
      strip: compileStrip(stripPaths(deployment, betas)),
      levels: new Set(authorizedLevels(deployment.authorization))
    }))
    for (const level of levels) {
      const found = candidates.find((candidate) => candidate.levels.has(level))
      const id = formatModelId({ base: model.id, level })
      if (found === undefined || bound.has(id)) continue
      const { deployment, strip } = found
      bound.set(id, { id, created: model.created, ownedBy: model.ownedBy, model, level, deployment, strip, betas })
    }
  }
  return bound
}

/** Of the IDs of active clouds: which may be served from where these clouds are, and which may not. */
const divide = (bound: ReadonlyMap<string, Entry>, sites: Sites) => {
  // A Map, not an object: `__proto__` and `constructor` are IDs that do not exist.
  const served = new Map<string, Entry>()
  const leftOut = new Map<string, Array<string>>()
  for (const [id, entry] of bound) {
    const site = sites[entry.deployment.cloud]
    if (site === undefined) continue
    const reason = forbids(entry.deployment, entry.level, site)
    if (reason === undefined) served.set(id, entry)
    else {
      const ids = leftOut.get(reason) ?? []
      leftOut.set(reason, ids)
      ids.push(id)
    }
  }
  return { served, leftOut: [...leftOut].map(([reason, ids]): LeftOut => ({ reason, ids })) }
}

/** What an index would list and leave out, for callers that resolve nothing. */
export const requestable = (catalog: Catalog, sites: Sites): Pick<Index, "list" | "leftOut"> => {
  const { served, leftOut } = divide(bind(catalog), sites)
  return { list: [...served.values()], leftOut }
}

/**
 * Builds the index once, so that resolving is one look-up.
 *
 * IDs are bound before inactive clouds, and places that are not authorized, are left out: settings can take an ID away, never
 * send it elsewhere. `paths` are for error messages.
 */
export const makeIndex = (catalog: Catalog, sites: Sites, paths: Paths): Index => {
  const bound = bind(catalog)
  const { served, leftOut } = divide(bound, sites)
  const list = [...served.values()]
  const known = { catalog, bound, served: list, leftOut: new Set(leftOut.flatMap(({ ids }) => ids)), paths }
  const resolve = (id: string, purpose: Purpose): Result.Result<Route, GatewayError> => {
    const entry = served.get(id)
    if (entry === undefined) return Result.fail(invalid(explainUnresolved(id, purpose, known)))
    if (!takes(purpose, entry)) return Result.fail(invalid(explainWrongKind(purpose, entry, paths)))
    const { model, level, deployment, strip, betas } = entry
    if (purpose === "count" && deployment.countModel === undefined) return Result.fail(invalid(countingUnavailable))
    return Result.succeed({ id, model, level, deployment, strip, betas })
  }
  return { resolve, list, leftOut }
}
