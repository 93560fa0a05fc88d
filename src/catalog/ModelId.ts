/**
 * The grammar of model IDs: `<base_model>:<level>` (docs/api.md#model-ids).
 *
 * The level starts after the last `:`. IDs are compared exactly: nothing is trimmed, folded or normalized.
 */
import { Result } from "effect"
import { isLevel, type Level } from "./Level.ts"

export interface ModelId {
  readonly base: string
  readonly level: Level
}

/** Why a text is no model ID. `bare`: there is no `:` in it; `unknown-level`: `level` is not one of `levels`. */
export type ModelIdProblem =
  | { readonly problem: "bare"; readonly base: string }
  | { readonly problem: "unknown-level"; readonly base: string; readonly level: string }
  | { readonly problem: "empty-base"; readonly base: ""; readonly level: Level }

/** Reads an ID. Whether its base model exists is the resolver's question. */
export const parseModelId = (text: string): Result.Result<ModelId, ModelIdProblem> => {
  const colon = text.lastIndexOf(":")
  if (colon < 0) return Result.fail({ problem: "bare", base: text })
  const base = text.slice(0, colon)
  const level = text.slice(colon + 1)
  if (!isLevel(level)) return Result.fail({ problem: "unknown-level", base, level })
  return base === "" ? Result.fail({ problem: "empty-base", base, level }) : Result.succeed({ base, level })
}

/** The inverse of `parseModelId`. */
export const formatModelId = ({ base, level }: ModelId): string => `${base}:${level}`
