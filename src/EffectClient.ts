/** The client for Effect programs, made from the contract. It holds no server code. */

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
export { Api } from "./contract/Api.ts"
export { ErrorType } from "./contract/Errors.ts"
export { ApiKey, MessagesKey } from "./contract/Security.ts"
