/**
 * What a deployment's authorization covers (docs/decisions.md#model-ids-and-levels). The two ladders are never compared with each
 * other: `il5` says nothing about `fedramp-high`.
 */
import { Result, Schema } from "effect"
import { fedrampLadder, impactLadder, type Level } from "./names.ts"

const FedrampLevel = Schema.Literals(fedrampLadder)
const ImpactLevel = Schema.Literals(impactLadder)

/**
 * What a deployment may serve: the top of each ladder, and ITAR.
 *
 * `itar`: `ladder` adds `:itar` and the composites to the plain levels; `only` has those without the plain levels;
 * `standalone` adds `:itar` alone.
 */
export const Authorization = Schema.Struct({
  fedramp: Schema.optionalKey(FedrampLevel),
  impact: Schema.optionalKey(ImpactLevel),
  itar: Schema.optionalKey(Schema.Literals(["ladder", "only", "standalone"]))
})
export type Authorization = typeof Authorization.Type

const below = <L extends string>(ladder: ReadonlyArray<L>, top: L | undefined): ReadonlyArray<L> =>
  top === undefined ? [] : ladder.slice(0, ladder.indexOf(top) + 1)

/** Every level an authorization covers, in the order of `levels`. */
export const authorizedLevels = (authorization: Authorization): ReadonlyArray<Level> => {
  const plain = [...below(fedrampLadder, authorization.fedramp), ...below(impactLadder, authorization.impact)]
  const { itar } = authorization
  return [
    ...(itar === "only" ? [] : plain),
    ...(itar === undefined ? [] : ["itar" as const]),
    ...(itar === "ladder" || itar === "only" ? plain.map((level) => `${level}+itar` as const) : [])
  ]
}

const isFedramp = Schema.is(FedrampLevel)
const isImpact = Schema.is(ImpactLevel)

/** What a declaration looks like, for errors about one that is absent or wrong. */
export const boundaryExample = "such as fedramp-high,il5,itar: the top of each ladder, and ITAR"

/**
 * Reads what an operator declares of an address that the partition table does not know: the top of each ladder, and ITAR, such as
 * `fedramp-high,il5,itar`. Each ladder is named once at most.
 */
export const parseBoundary = (text: string): Result.Result<Authorization, string> => {
  let declared: Authorization = {}
  for (const name of text.split(",").map((part) => part.trim())) {
    if (isFedramp(name) && declared.fedramp === undefined) declared = { ...declared, fedramp: name }
    else if (isImpact(name) && declared.impact === undefined) declared = { ...declared, impact: name }
    else if (name === "itar" && declared.itar === undefined) declared = { ...declared, itar: "ladder" }
    else return Result.fail(`must name what may be served there, ${boundaryExample}`)
  }
  return Result.succeed(declared)
}

/** The inverse of `parseBoundary` where something is declared. */
export const formatBoundary = ({ fedramp, impact, itar }: Authorization): string =>
  [fedramp, impact, itar && "itar"].filter((part) => part !== undefined).join(",")
