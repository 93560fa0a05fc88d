/**
 * What the resolver reads and answers: who serves a request, at which level, and what belongs to betas of the messages format, a
 * table of the catalog.
 */
import { Schema } from "effect"
import type { Strip } from "../wire/strip.ts"
import { Beta, type Deployment, type Model } from "./Catalog.ts"
import shipped from "./catalog.json" with { type: "json" }
import type { Level } from "./names.ts"

/** For a catalog that has no table of its own. */
export const shippedBetas: ReadonlyArray<Beta> = Schema.decodeUnknownSync(Schema.Array(Beta))(shipped.betas)

/** The paths of what a deployment is not sent: what its API refuses, and what belongs to betas, unless they are sent. */
export const stripPaths = (deployment: Deployment, betas: ReadonlyArray<Beta>): ReadonlyArray<string> => [
  ...new Set([
    ...(deployment.strip ?? []),
    ...(deployment.api === "messages" ? betas.flatMap(({ fields = [] }) => fields) : [])
  ])
]

/** A requestable ID and what it is bound to. */
export interface Entry {
  readonly id: string
  readonly model: Model
  readonly level: Level
  readonly deployment: Deployment
  /** The fields that the deployment's API refuses (`Deployment.strip`), and those of betas. */
  readonly strip: Strip
  /** What belongs to betas. */
  readonly betas: ReadonlyArray<Beta>
}

/** The entry of a request. */
export interface Route extends Entry {
  /** Of these, what it refuses of this request and the catalog does not know (`http/refusedFields.ts`). */
  readonly refused?: ReadonlySet<string> | undefined
}
