/**
 * The closed sets of names that contract, resolver, records and metrics share, and what differs by them where nothing is translated.
 * It imports nothing.
 */

/** Kinds of models: messages-format, Google's, GPT-class with or without reasoning, and vectors of texts. */
export const families = ["claude", "gemini", "gpt", "embedding"] as const
export type Family = (typeof families)[number]

/** Efforts of OpenAI's list, lowest first. */
export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const

/** What comes of a call: text, a vector, or a count, which is free and no inference. */
type Output = "text" | "vector" | "count"

export const apis = ["messages", "content", "chat", "responses", "embeddings"] as const
export type Api = (typeof apis)[number]

/** Which of a cloud's APIs a body is for. */
export type Operation = Api | "count"

interface OperationFacts {
  /** `gen_ai.operation.name` */
  readonly name: string
  readonly output: Output
  /** What it serves. */
  readonly family: Family
}

export const operations: Readonly<Record<Operation, OperationFacts>> = {
  messages: { name: "chat", output: "text", family: "claude" },
  count: { name: "count_tokens", output: "count", family: "claude" },
  content: { name: "generate_content", output: "text", family: "gemini" },
  chat: { name: "chat", output: "text", family: "gpt" },
  responses: { name: "chat", output: "text", family: "gpt" },
  embeddings: { name: "embeddings", output: "vector", family: "embedding" }
}

/** The endpoints that are recorded and counted, by the names that records and metrics use. */
export const surfaceNames = ["chat", "messages", "count_tokens", "responses", "embeddings", "models"] as const
export type SurfaceName = (typeof surfaceNames)[number]

/** What an ID is resolved for: one of the surfaces that ask a cloud. */
export type Purpose = Exclude<SurfaceName, "models">

interface SurfaceFacts {
  readonly output: Output
  /** What it serves; undefined: the deployments that say so. */
  readonly families: ReadonlyArray<Family> | undefined
  /** Whether the gateway rewrites bodies: it then resends one without fields that the cloud refuses. Others are forwarded as they came. */
  readonly rewritten: boolean
}

export const surfaces: Readonly<Record<Purpose, SurfaceFacts>> = {
  chat: { output: "text", families: ["claude", "gemini", "gpt"], rewritten: true },
  messages: { output: "text", families: ["claude"], rewritten: true },
  count_tokens: { output: "count", families: ["claude"], rewritten: true },
  responses: { output: "text", families: undefined, rewritten: false },
  embeddings: { output: "vector", families: ["embedding"], rewritten: false }
}

/** The surface that settings name: counting belongs to messages. */
export const surfaceOf = (purpose: Purpose): Exclude<Purpose, "count_tokens"> =>
  purpose === "count_tokens" ? "messages" : purpose

export const isPurpose = (surface: SurfaceName | undefined): surface is Purpose =>
  surface !== undefined && surface !== "models"

// Lowest first. Authorization for one level includes the ones before it.
export const fedrampLadder = ["fedramp-low", "fedramp-moderate", "fedramp-high"] as const
export const impactLadder = ["il2", "il4", "il5"] as const
const plainLevels = [...fedrampLadder, ...impactLadder] as const
type PlainLevel = (typeof plainLevels)[number]

/** What follows the last `:` of a model ID (docs/api.md#model-ids). */
export type Level = PlainLevel | "itar" | `${PlainLevel}+itar`

/** Every level there is, in the order in which IDs are listed. */
export const levels: ReadonlyArray<Level> = [
  ...plainLevels,
  "itar",
  ...plainLevels.map((level) => `${level}+itar` as const)
]

const known: ReadonlySet<string> = new Set(levels)
export const isLevel = (text: string): text is Level => known.has(text)
