/** The whole contract: which endpoint takes and answers what. Importing it pulls in no server code. */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ChatRequest } from "./Chat.ts"
import { ChatEvent, Completion } from "./ChatReply.ts"
import { completeDocument } from "./document.ts"
import { EmbeddingsGroup } from "./Embeddings.ts"
import { ApiErrors } from "./Errors.ts"
import { type Endpoint, endpointsOf, operation, pathsOf, section } from "./facts.ts"
import { MessagesGroup } from "./MessagesGroup.ts"
import { ResponsesRequest } from "./Responses.ts"
import { ResponseObject, ResponsesEvent } from "./ResponsesReply.ts"
import { ApiKey } from "./Security.ts"
import { HealthGroup, ModelsGroup } from "./System.ts"
import { usageNotice } from "./usageNotice.ts"
import { version } from "./version.ts"

const chatSample = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{"content":"FedRAMP"},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]`

class ChatGroup extends HttpApiGroup.make("chat")
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
        chatSample
      )
    )
  )
  .middleware(ApiKey)
  .annotateMerge(section("Chat completions", "The OpenAI format, for models of every vendor.")) {}

// `POST /v1/responses` as it is documented: a thin proxy to cloud C's responses API (docs/api.md#responses).

const responsesSample = `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_01","object":"response","status":"in_progress"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_01","output_index":0,"content_index":0,"delta":"FedRAMP"}

event: response.completed
data: {"type":"response.completed","sequence_number":9,"response":{"id":"resp_01","object":"response","status":"completed"}}`

class ResponsesGroup extends HttpApiGroup.make("responses")
  .add(
    HttpApiEndpoint.post("create", "/v1/responses", {
      payload: ResponsesRequest,
      success: [ResponseObject, HttpApiSchema.StreamSse({ events: ResponsesEvent })],
      error: ApiErrors
    }).annotateMerge(
      operation(
        "responses",
        "createResponse",
        "Create a response",
        "The responses format, for GPT-class models on Azure. Nothing is stored: send the full input each turn. Fields that are not listed pass to the cloud.",
        responsesSample
      )
    )
  )
  .middleware(ApiKey)
  .annotateMerge(section("Responses", "The OpenAI responses format, for GPT-class models on Azure.")) {}

export class Api extends HttpApi.make("gateway")
  .add(ChatGroup, MessagesGroup, ResponsesGroup, EmbeddingsGroup, ModelsGroup, HealthGroup)
  .annotateMerge(
    OpenApi.annotations({
      title: "Government Model Gateway",
      version,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      servers: [{ url: "/", description: "The gateway that serves this document" }],
      transform: completeDocument(() => endpoints),
      description: `One address for hosted language models on government-authorized clouds. Name a model as \`<base_model>:<level>\`; the level decides which cloud serves the request.\n\n> **Usage notice.** ${usageNotice}`
    })
  ) {}

export const endpoints: ReadonlyMap<string, Endpoint> = endpointsOf(Api)
/** Where each purpose is served: named to a caller at the wrong endpoint. */
export const purposePaths = pathsOf(endpoints)
