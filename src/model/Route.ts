/** What the resolver reads and answers: who serves a request, and at which level. */
import type { Deployment, Model } from "./Catalog.ts"
import type { Level } from "./Level.ts"

/** The four dialects callers speak. Counting is the messages surface's. */
export type Surface = "chat" | "messages" | "responses" | "embeddings"

/** What an ID is resolved for: a surface, or counting, which the messages surface does. */
export type Purpose = Surface | "count"

/** A requestable ID and what it is bound to. */
export interface Entry {
  readonly id: string
  /** Unix time in seconds. */
  readonly created: number
  readonly ownedBy: string
  readonly model: Model
  readonly level: Level
  readonly deployment: Deployment
}

export interface Route {
  readonly surface: Surface
  /** The composite ID as the caller wrote it. */
  readonly id: string
  readonly model: Model
  readonly level: Level
  readonly deployment: Deployment
}
