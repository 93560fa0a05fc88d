/** What the resolver reads and answers: who serves a request, and at which level. */

import type { Strip } from "../wire/strip.ts"
import type { Beta, Deployment, Model } from "./Catalog.ts"
import type { Level } from "./Level.ts"

export { type Operation, type Purpose, type SurfaceName, surfaceNames } from "./names.ts"

/** A requestable ID and what it is bound to. */
export interface Entry {
  readonly id: string
  /** Unix time in seconds. */
  readonly created: number
  readonly ownedBy: string
  readonly model: Model
  readonly level: Level
  readonly deployment: Deployment
  /** The fields that the deployment's API refuses (`Deployment.strip`), and those of betas. */
  readonly strip: Strip
  /** What belongs to betas. */
  readonly betas: ReadonlyArray<Beta>
}

/** The entry of a request; its `id` is as the caller wrote it. */
export interface Route extends Pick<Entry, "id" | "model" | "level" | "deployment" | "strip" | "betas"> {
  /** Of these, what it refuses of this request and the catalog does not know (`surfaces/refusedFields.ts`). */
  readonly refused?: ReadonlySet<string> | undefined
}
