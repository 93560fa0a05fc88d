/** What the resolver answers: who serves a request, and at which level. */
import type { Deployment, Model } from "./Catalog.ts"
import type { Level } from "./Level.ts"

/** The four dialects callers speak. Counting is the messages surface's. */
export type Surface = "chat" | "messages" | "responses" | "embeddings"

export interface Route {
  readonly surface: Surface
  /** The composite ID as the caller wrote it. */
  readonly id: string
  readonly model: Model
  readonly level: Level
  readonly deployment: Deployment
}
