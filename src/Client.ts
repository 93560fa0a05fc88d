/**
 * The gateway's client, typed by its contract. It needs no library and holds no server code; `EffectClient.ts` is the one for
 * Effect programs.
 *
 * ```ts
 * const gateway = createClient({ baseUrl: "http://127.0.0.1:8080", apiKey })
 * const stream = gateway.chat.stream({
 *   model: "claude-sonnet-4-5:il5",
 *   messages: [{ role: "user", content: "What can you do?" }]
 * })
 * for await (const piece of stream.text) write(piece)
 * ```
 */

export type { Level } from "./catalog/names.ts"
export type { StreamedToolCall } from "./client/accumulate.ts"
export type { CallOptions, PromiseClientOptions } from "./client/connection.ts"
export type * from "./client/contract.ts"
export { EventStream } from "./client/EventStream.ts"
export { ConnectionError, StreamError } from "./client/errors.ts"
export type { MessageStreamEvent, ResponseStreamEvent } from "./client/events.ts"
export type { GatewayHeaders } from "./client/headers.ts"
export { isModelName, type ModelFor, type ModelName } from "./client/ModelName.ts"
export type { RetryOptions } from "./client/policy.ts"
export { createClient, type PromiseClient } from "./client/promises.ts"
export { ApiError, MessagesError } from "./contract/ApiError.ts"
export { usageNotice } from "./contract/usageNotice.ts"
export { version } from "./contract/version.ts"
