/** Examples of the OpenAPI document, by operation: what a reader can send to the sandbox as it is, and what comes back. */
import { service, version } from "./version.ts"

interface Example {
  readonly summary: string
  readonly value: unknown
}
export interface OperationExamples {
  /** The first is what the interactive reference fills in. */
  readonly requests: Readonly<Record<string, Example>>
  readonly reply: unknown
  /** What a stream looks like on the wire. */
  readonly stream?: string
}

const id = "3c9f5f0e-6d0b-4f3c-9f0e-0f6a1d2b7c11"
const question = [{ role: "user", content: "What is FedRAMP High?" }]
const weather = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"]
}
const text = "FedRAMP High is the strictest of the three FedRAMP baselines."

export const examples: Readonly<Record<string, OperationExamples>> = {
  createChatCompletion: {
    requests: {
      question: { summary: "A question", value: { model: "claude-sonnet-4-5:il5", messages: question } },
      stream: {
        summary: "As a stream, with usage",
        value: {
          model: "gemini-3-flash:fedramp-high",
          messages: question,
          stream: true,
          stream_options: { include_usage: true }
        }
      },
      tools: {
        summary: "With a tool",
        value: {
          model: "gpt-5.1:il5",
          messages: [{ role: "user", content: "What is the weather in Denver?" }],
          tools: [
            {
              type: "function",
              function: { name: "get_weather", description: "The weather in a city", parameters: weather }
            }
          ]
        }
      }
    },
    reply: {
      id: `chatcmpl-${id}`,
      object: "chat.completion",
      created: 1_767_225_600,
      model: "claude-sonnet-4-5:il5",
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
      usage: { prompt_tokens: 14, completion_tokens: 17, total_tokens: 31 }
    },
    stream: `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{"content":"FedRAMP"},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]`
  },
  createMessage: {
    requests: {
      question: {
        summary: "A question",
        value: { model: "claude-sonnet-4-5:il5", max_tokens: 300, messages: question }
      },
      stream: {
        summary: "As a stream, with thinking",
        value: {
          model: "claude-sonnet-4-5:il2",
          max_tokens: 4096,
          thinking: { type: "enabled", budget_tokens: 1024 },
          stream: true,
          messages: question
        }
      }
    },
    reply: {
      id: "msg_01",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 14, output_tokens: 17 }
    },
    stream: `event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":14,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"FedRAMP"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":17}}

event: message_stop
data: {"type":"message_stop"}`
  },
  countMessageTokens: {
    requests: {
      question: { summary: "A question", value: { model: "claude-sonnet-4-5:il5", messages: question } }
    },
    reply: { input_tokens: 14 }
  },
  createResponse: {
    requests: {
      question: { summary: "A question", value: { model: "gpt-5.1:il5", input: "What is FedRAMP High?" } },
      stream: {
        summary: "As a stream",
        value: { model: "gpt-5.1:il5", input: "What is FedRAMP High?", stream: true }
      }
    },
    reply: {
      id: "resp_01",
      object: "response",
      created_at: 1_767_225_600,
      status: "completed",
      model: "gpt-5.1",
      output: [
        { type: "message", id: "msg_01", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] }
      ],
      usage: { input_tokens: 14, output_tokens: 17, total_tokens: 31 }
    },
    stream: `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_01","object":"response","status":"in_progress"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_01","output_index":0,"content_index":0,"delta":"FedRAMP"}

event: response.completed
data: {"type":"response.completed","sequence_number":9,"response":{"id":"resp_01","object":"response","status":"completed"}}`
  },
  createEmbeddings: {
    requests: {
      two: {
        summary: "Two strings",
        value: { model: "titan-embed-text-v2:il5", input: ["first text", "second text"] }
      }
    },
    reply: {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.0123, -0.0456, 0.0789] }],
      model: "titan-embed-text-v2:il5",
      usage: { prompt_tokens: 2, total_tokens: 2 }
    }
  },
  listModels: {
    requests: {},
    reply: {
      object: "list",
      data: [{ id: "claude-sonnet-4-5:il5", object: "model", created: 1_759_104_000, owned_by: "anthropic" }]
    }
  },
  getHealth: { requests: {}, reply: { status: "ok", service, version } }
}

/** What each status means, and an error that has it. */
export const errors: Readonly<
  Record<string, { readonly meaning: string; readonly type: string; readonly message: string }>
> = {
  "400": {
    meaning: "The request is not valid; the message says where and what would be.",
    type: "invalid_request_error",
    message: "max_tokens: must be a positive integer"
  },
  "401": {
    meaning: "The API key is missing or not valid.",
    type: "authentication_error",
    message: "the API key is missing or not valid: send it in x-api-key"
  },
  "403": {
    meaning: "The key may not use this model or level.",
    type: "permission_error",
    message: "this key may not use the level itar"
  },
  "408": {
    meaning: "The request body took too long.",
    type: "invalid_request_error",
    message: "the request body took too long"
  },
  "413": {
    meaning: "The request body is too large.",
    type: "invalid_request_error",
    message: "the request body is larger than 20971520 bytes"
  },
  "415": {
    meaning: "The body is not JSON.",
    type: "invalid_request_error",
    message: "Content-Type must be application/json"
  },
  "429": {
    meaning: "A rate limit or the key's quota is exceeded: try again after `retry-after`.",
    type: "rate_limit_error",
    message: "the cloud that serves this model is limiting requests"
  },
  "500": { meaning: "The gateway failed.", type: "api_error", message: "internal error" },
  "502": {
    meaning: "The cloud that serves the model failed or could not be reached.",
    type: "api_error",
    message: "the cloud that serves this model could not be reached"
  },
  "503": {
    meaning: "The gateway is overloaded or shutting down: try again after `retry-after`.",
    type: "api_error",
    message: "the gateway has as many requests in hand as it takes; try again in a moment"
  },
  "504": {
    meaning: "The request took longer than it may.",
    type: "api_error",
    message: "the reply took longer than a request may take"
  }
}
