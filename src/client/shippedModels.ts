/** The models of the catalog that comes with the gateway, for completion in an editor. A test compares them with it. */

const fedramp = ["fedramp-low", "fedramp-moderate", "fedramp-high"] as const
export const plainLevels = [...fedramp, "il2", "il4", "il5"] as const
const fedrampItar = ["fedramp-low+itar", "fedramp-moderate+itar", "fedramp-high+itar"] as const
const every = [...plainLevels, "itar", ...fedrampItar, "il2+itar", "il4+itar", "il5+itar"] as const

const claude = {
  "claude-sonnet-4-5": every,
  "claude-haiku-4-5": every,
  "claude-opus-4-7": every,
  "claude-opus-4-8": [...fedramp, "il2", "itar"],
  "claude-opus-5": [...fedramp, "il2", "itar", ...fedrampItar],
  "claude-sonnet-5": every
} as const

/** Levels by base model, by what they serve. */
export const shippedModels = {
  chat: {
    ...claude,
    "gemini-3-flash": [...fedramp, "il2"],
    "gpt-5.1": plainLevels,
    "gpt-5.6-terra": every,
    "gpt-oss-120b": every
  },
  messages: claude,
  responses: { "gpt-5.1": plainLevels },
  embeddings: { "titan-embed-text-v2": every }
} as const

type Shipped = typeof shippedModels
type Ids<M> = {
  readonly [K in keyof M & string]: M[K] extends ReadonlyArray<infer L extends string> ? `${K}:${L}` : never
}[keyof M & string]

/** The IDs that the shipped catalog serves for a purpose, where every cloud is configured. */
export type ShippedModel<P extends keyof Shipped> = Ids<Shipped[P]>
