/** `POST /v1/chat/completions` as it is documented (docs/api.md#chat-completions). */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { ChatRequest } from "./Chat.ts"
import { ChatEvent, Completion } from "./ChatReply.ts"
import { ApiErrors } from "./Errors.ts"
import { operation, section } from "./facts.ts"
import { ApiKey } from "./Security.ts"

const sample = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{"content":"FedRAMP"},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]`

export class ChatGroup extends HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("completions", "/v1/chat/completions", {
      payload: ChatRequest,
      success: [Completion, HttpApiSchema.StreamSse({ events: ChatEvent })],
      error: ApiErrors
    }).annotateMerge(
      operation(
        "chat",
        "createChatCompletion",
        "Create a chat completion",
        "The chat completions format for models of every vendor. The level in `model` decides which cloud serves the request.",
        sample
      )
    )
  )
  .middleware(ApiKey)
  .annotateMerge(section("Chat completions", "The OpenAI format, for models of every vendor.")) {}
