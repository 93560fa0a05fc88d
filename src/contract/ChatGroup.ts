/** `POST /v1/chat/completions` as it is documented: what the gateway acts on, and what it passes or translates. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ChatRequest } from "./Chat.ts"
import { ChatEvent, Completion } from "./ChatReply.ts"
import { ApiErrors } from "./Errors.ts"
import { Facts } from "./facts.ts"
import { streaming } from "./fields.ts"
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
    })
      .annotate(Facts, { surface: "chat", purpose: "chat", streamed: true, screened: "chat" })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createChatCompletion",
          summary: "Create a chat completion",
          description: streaming(
            "The chat completions format for models of every vendor. The level in `model` decides which cloud serves the request.",
            sample
          )
        })
      )
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Chat completions", description: "The OpenAI format, for models of every vendor." })
  ) {}
