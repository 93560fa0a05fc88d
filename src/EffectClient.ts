/** The client for Effect programs, made from the contract. It holds no server code. */
export { Api } from "./api/Api.ts"
export { ErrorType } from "./api/Errors.ts"
export { ApiKey, MessagesKey } from "./api/Security.ts"
export * from "./Client.ts"
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
