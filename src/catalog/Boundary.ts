/**
 * What an operator declares of an address that the partition table does not know, in the catalog's terms: the top of each
 * ladder, and ITAR, such as `fedramp-high,il5,itar`.
 */
import { Result, Schema } from "effect"
import { type Authorization, FedrampLevel, ImpactLevel } from "./Level.ts"

const isFedramp = Schema.is(FedrampLevel)
const isImpact = Schema.is(ImpactLevel)

/** What a declaration looks like, for errors about one that is absent or wrong. */
export const boundaryExample = "such as fedramp-high,il5,itar: the top of each ladder, and ITAR"

/** Reads a declaration. Each ladder is named once at most. */
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
