/** The closed sets of names that contract, resolver, records and metrics share. It imports nothing. */

/** What an ID is resolved for: one of the dialects that callers speak, or counting, which is the messages dialect's. */
export type Purpose = "chat" | "messages" | "responses" | "embeddings" | "count"

/** The endpoints that are recorded and counted, by the names that records and metrics use. */
export const surfaceNames = ["chat", "messages", "count_tokens", "responses", "embeddings", "models"] as const
export type SurfaceName = (typeof surfaceNames)[number]

/** Which of a cloud's APIs a body is for. */
export type Operation = "messages" | "count" | "content" | "chat" | "responses" | "embeddings"
