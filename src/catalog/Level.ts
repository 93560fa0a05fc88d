/**
 * The levels a caller can name, and what a deployment's authorization covers (docs/api.md#model-ids,
 * docs/decisions.md#model-ids-and-levels).
 *
 * The two ladders are never compared with each other: `il5` says nothing about `fedramp-high`.
 */
import { Schema } from "effect"

/** Lowest first. Authorization for one level includes the ones before it. */
export const fedrampLadder = ["fedramp-low", "fedramp-moderate", "fedramp-high"] as const
/** Lowest first. Authorization for one level includes the ones before it. */
export const impactLadder = ["il2", "il4", "il5"] as const
const ladders = [fedrampLadder, impactLadder] as const

export const FedrampLevel = Schema.Literals(fedrampLadder)
export const ImpactLevel = Schema.Literals(impactLadder)
export const PlainLevel = Schema.Literals([...fedrampLadder, ...impactLadder])
export type PlainLevel = typeof PlainLevel.Type

/** A plain level, `itar`, or a composite `<level>+itar`. */
export type Level = PlainLevel | "itar" | `${PlainLevel}+itar`

/** Every level there is, in the order in which IDs are listed. */
export const levels: ReadonlyArray<Level> = [
  ...ladders.flat(),
  "itar",
  ...ladders.flat().map((level) => `${level}+itar` as const)
]

const known: ReadonlySet<string> = new Set(levels)
export const isLevel = (text: string): text is Level => known.has(text)

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
  const covered = new Set<Level>()
  if (authorization.itar !== "only") for (const level of plain) covered.add(level)
  if (authorization.itar !== undefined) covered.add("itar")
  if (authorization.itar === "ladder" || authorization.itar === "only") {
    for (const level of plain) covered.add(`${level}+itar`)
  }
  return levels.filter((level) => covered.has(level))
}
