/**
 * The gateway's client, made from its contract. It holds no server code.
 *
 * ```ts
 * const gateway = createClient({ baseUrl: "http://127.0.0.1:8080", apiKey })
 * for await (const chunk of gateway.chat.stream({
 *   model: "claude-sonnet-4-5:il5",
 *   messages: [{ role: "user", content: "What can you do?" }]
 * })) write(chunk.choices[0]?.delta.content ?? "")
 * ```
 */
export { Api } from "./api/Api.ts"
export type { Completion, CompletionChunk, FinishReason, Usage } from "./api/Chat.ts"
export type { ChatRequest } from "./api/ChatGroup.ts"
export type { ChatMessage, ContentPart, Tool, ToolCall, ToolChoice } from "./api/ChatMessage.ts"
export type { EmbeddingList, EmbeddingsRequest } from "./api/Embeddings.ts"
export { ApiError, ErrorType, MessagesError } from "./api/Errors.ts"
export type { Governance, GovernanceFlag } from "./api/Governance.ts"
export type { Message } from "./api/MessagesEvents.ts"
export type { CountRequest, MessagesRequest } from "./api/MessagesGroup.ts"
export type { ResponsesRequest } from "./api/ResponsesGroup.ts"
export type { ResponseObject } from "./api/ResponsesReply.ts"
export { ApiKey, MessagesKey } from "./api/Security.ts"
export { usageNotice } from "./api/usageNotice.ts"
export { version } from "./api/version.ts"
export { StreamError } from "./client/events.ts"
export {
  type Client,
  type ClientOptions,
  GatewayClient,
  makeClient,
  type Reply,
  type ReplyBody,
  type RequestFailure,
  type WithModel
} from "./client/GatewayClient.ts"
export type { GatewayHeaders } from "./client/headers.ts"
export { isModelName, type Level, type ModelName } from "./client/ModelName.ts"
export { type CallOptions, createClient, type PromiseClient, type PromiseClientOptions } from "./client/promises.ts"
export type { MessageStreamEvent, ResponseStreamEvent } from "./client/readers.ts"
export type { RetryOptions } from "./client/retry.ts"
