/** What belongs to betas of the messages format: a table of the catalog. */
import { Schema } from "effect"
import { Beta, type Deployment } from "./Catalog.ts"
import shipped from "./catalog.json" with { type: "json" }

/** For a catalog that has no table of its own. */
export const shippedBetas: ReadonlyArray<Beta> = Schema.decodeUnknownSync(Schema.Array(Beta))(shipped.betas)

/** The paths of what a deployment is not sent: what its API refuses, and what belongs to betas, unless they are sent. */
export const stripPaths = (deployment: Deployment, betas: ReadonlyArray<Beta>): ReadonlyArray<string> => [
  ...new Set([
    ...(deployment.strip ?? []),
    ...(deployment.api === "messages" ? betas.flatMap(({ fields = [] }) => fields) : [])
  ])
]
