/** The contract as types, made from the OpenAPI document; `test/clients/declarations.test.ts` writes this file. */

/** Where each operation is, the statuses of its answers, and the body of its refusals. */
export const operations = {
  createChatCompletion: { method: "POST", path: "/v1/chat/completions", answers: [200], refusal: "ApiErrorBody" },
  createMessage: { method: "POST", path: "/v1/messages", answers: [200], refusal: "MessagesErrorBody" },
  countMessageTokens: { method: "POST", path: "/v1/messages/count_tokens", answers: [200], refusal: "MessagesErrorBody" },
  createResponse: { method: "POST", path: "/v1/responses", answers: [200], refusal: "ApiErrorBody" },
  createEmbeddings: { method: "POST", path: "/v1/embeddings", answers: [200], refusal: "ApiErrorBody" },
  listModels: { method: "GET", path: "/v1/models", answers: [200], refusal: "ApiErrorBody" },
  getModel: { method: "GET", path: "/v1/models/{id}", answers: [200], refusal: "ApiErrorBody" },
  getHealth: { method: "GET", path: "/health", answers: [200, 503], refusal: "ApiErrorBody" }
} as const

/** The IDs that the shipped catalog serves for a purpose, where every cloud is configured. */
export interface ShippedModels {
  readonly chat:
    | "claude-sonnet-4-5:fedramp-low"
    | "claude-sonnet-4-5:fedramp-moderate"
    | "claude-sonnet-4-5:fedramp-high"
    | "claude-sonnet-4-5:il2"
    | "claude-sonnet-4-5:il4"
    | "claude-sonnet-4-5:il5"
    | "claude-sonnet-4-5:itar"
    | "claude-sonnet-4-5:fedramp-low+itar"
    | "claude-sonnet-4-5:fedramp-moderate+itar"
    | "claude-sonnet-4-5:fedramp-high+itar"
    | "claude-sonnet-4-5:il2+itar"
    | "claude-sonnet-4-5:il4+itar"
    | "claude-sonnet-4-5:il5+itar"
    | "claude-haiku-4-5:fedramp-low"
    | "claude-haiku-4-5:fedramp-moderate"
    | "claude-haiku-4-5:fedramp-high"
    | "claude-haiku-4-5:il2"
    | "claude-haiku-4-5:il4"
    | "claude-haiku-4-5:il5"
    | "claude-haiku-4-5:itar"
    | "claude-haiku-4-5:fedramp-low+itar"
    | "claude-haiku-4-5:fedramp-moderate+itar"
    | "claude-haiku-4-5:fedramp-high+itar"
    | "claude-haiku-4-5:il2+itar"
    | "claude-haiku-4-5:il4+itar"
    | "claude-haiku-4-5:il5+itar"
    | "claude-opus-4-7:fedramp-low"
    | "claude-opus-4-7:fedramp-moderate"
    | "claude-opus-4-7:fedramp-high"
    | "claude-opus-4-7:il2"
    | "claude-opus-4-7:il4"
    | "claude-opus-4-7:il5"
    | "claude-opus-4-7:itar"
    | "claude-opus-4-7:fedramp-low+itar"
    | "claude-opus-4-7:fedramp-moderate+itar"
    | "claude-opus-4-7:fedramp-high+itar"
    | "claude-opus-4-7:il2+itar"
    | "claude-opus-4-7:il4+itar"
    | "claude-opus-4-7:il5+itar"
    | "claude-opus-4-8:fedramp-low"
    | "claude-opus-4-8:fedramp-moderate"
    | "claude-opus-4-8:fedramp-high"
    | "claude-opus-4-8:il2"
    | "claude-opus-4-8:itar"
    | "claude-opus-5:fedramp-low"
    | "claude-opus-5:fedramp-moderate"
    | "claude-opus-5:fedramp-high"
    | "claude-opus-5:il2"
    | "claude-opus-5:itar"
    | "claude-opus-5:fedramp-low+itar"
    | "claude-opus-5:fedramp-moderate+itar"
    | "claude-opus-5:fedramp-high+itar"
    | "claude-sonnet-5:fedramp-low"
    | "claude-sonnet-5:fedramp-moderate"
    | "claude-sonnet-5:fedramp-high"
    | "claude-sonnet-5:il2"
    | "claude-sonnet-5:il4"
    | "claude-sonnet-5:il5"
    | "claude-sonnet-5:itar"
    | "claude-sonnet-5:fedramp-low+itar"
    | "claude-sonnet-5:fedramp-moderate+itar"
    | "claude-sonnet-5:fedramp-high+itar"
    | "claude-sonnet-5:il2+itar"
    | "claude-sonnet-5:il4+itar"
    | "claude-sonnet-5:il5+itar"
    | "gemini-3-flash:fedramp-low"
    | "gemini-3-flash:fedramp-moderate"
    | "gemini-3-flash:fedramp-high"
    | "gemini-3-flash:il2"
    | "gpt-5.1:fedramp-low"
    | "gpt-5.1:fedramp-moderate"
    | "gpt-5.1:fedramp-high"
    | "gpt-5.1:il2"
    | "gpt-5.1:il4"
    | "gpt-5.1:il5"
    | "gpt-5.6-terra:fedramp-low"
    | "gpt-5.6-terra:fedramp-moderate"
    | "gpt-5.6-terra:fedramp-high"
    | "gpt-5.6-terra:il2"
    | "gpt-5.6-terra:il4"
    | "gpt-5.6-terra:il5"
    | "gpt-5.6-terra:itar"
    | "gpt-5.6-terra:fedramp-low+itar"
    | "gpt-5.6-terra:fedramp-moderate+itar"
    | "gpt-5.6-terra:fedramp-high+itar"
    | "gpt-5.6-terra:il2+itar"
    | "gpt-5.6-terra:il4+itar"
    | "gpt-5.6-terra:il5+itar"
    | "gpt-oss-120b:fedramp-low"
    | "gpt-oss-120b:fedramp-moderate"
    | "gpt-oss-120b:fedramp-high"
    | "gpt-oss-120b:il2"
    | "gpt-oss-120b:il4"
    | "gpt-oss-120b:il5"
    | "gpt-oss-120b:itar"
    | "gpt-oss-120b:fedramp-low+itar"
    | "gpt-oss-120b:fedramp-moderate+itar"
    | "gpt-oss-120b:fedramp-high+itar"
    | "gpt-oss-120b:il2+itar"
    | "gpt-oss-120b:il4+itar"
    | "gpt-oss-120b:il5+itar"
  readonly messages:
    | "claude-sonnet-4-5:fedramp-low"
    | "claude-sonnet-4-5:fedramp-moderate"
    | "claude-sonnet-4-5:fedramp-high"
    | "claude-sonnet-4-5:il2"
    | "claude-sonnet-4-5:il4"
    | "claude-sonnet-4-5:il5"
    | "claude-sonnet-4-5:itar"
    | "claude-sonnet-4-5:fedramp-low+itar"
    | "claude-sonnet-4-5:fedramp-moderate+itar"
    | "claude-sonnet-4-5:fedramp-high+itar"
    | "claude-sonnet-4-5:il2+itar"
    | "claude-sonnet-4-5:il4+itar"
    | "claude-sonnet-4-5:il5+itar"
    | "claude-haiku-4-5:fedramp-low"
    | "claude-haiku-4-5:fedramp-moderate"
    | "claude-haiku-4-5:fedramp-high"
    | "claude-haiku-4-5:il2"
    | "claude-haiku-4-5:il4"
    | "claude-haiku-4-5:il5"
    | "claude-haiku-4-5:itar"
    | "claude-haiku-4-5:fedramp-low+itar"
    | "claude-haiku-4-5:fedramp-moderate+itar"
    | "claude-haiku-4-5:fedramp-high+itar"
    | "claude-haiku-4-5:il2+itar"
    | "claude-haiku-4-5:il4+itar"
    | "claude-haiku-4-5:il5+itar"
    | "claude-opus-4-7:fedramp-low"
    | "claude-opus-4-7:fedramp-moderate"
    | "claude-opus-4-7:fedramp-high"
    | "claude-opus-4-7:il2"
    | "claude-opus-4-7:il4"
    | "claude-opus-4-7:il5"
    | "claude-opus-4-7:itar"
    | "claude-opus-4-7:fedramp-low+itar"
    | "claude-opus-4-7:fedramp-moderate+itar"
    | "claude-opus-4-7:fedramp-high+itar"
    | "claude-opus-4-7:il2+itar"
    | "claude-opus-4-7:il4+itar"
    | "claude-opus-4-7:il5+itar"
    | "claude-opus-4-8:fedramp-low"
    | "claude-opus-4-8:fedramp-moderate"
    | "claude-opus-4-8:fedramp-high"
    | "claude-opus-4-8:il2"
    | "claude-opus-4-8:itar"
    | "claude-opus-5:fedramp-low"
    | "claude-opus-5:fedramp-moderate"
    | "claude-opus-5:fedramp-high"
    | "claude-opus-5:il2"
    | "claude-opus-5:itar"
    | "claude-opus-5:fedramp-low+itar"
    | "claude-opus-5:fedramp-moderate+itar"
    | "claude-opus-5:fedramp-high+itar"
    | "claude-sonnet-5:fedramp-low"
    | "claude-sonnet-5:fedramp-moderate"
    | "claude-sonnet-5:fedramp-high"
    | "claude-sonnet-5:il2"
    | "claude-sonnet-5:il4"
    | "claude-sonnet-5:il5"
    | "claude-sonnet-5:itar"
    | "claude-sonnet-5:fedramp-low+itar"
    | "claude-sonnet-5:fedramp-moderate+itar"
    | "claude-sonnet-5:fedramp-high+itar"
    | "claude-sonnet-5:il2+itar"
    | "claude-sonnet-5:il4+itar"
    | "claude-sonnet-5:il5+itar"
  readonly responses:
    | "gpt-5.1:fedramp-low"
    | "gpt-5.1:fedramp-moderate"
    | "gpt-5.1:fedramp-high"
    | "gpt-5.1:il2"
    | "gpt-5.1:il4"
    | "gpt-5.1:il5"
  readonly embeddings:
    | "titan-embed-text-v2:fedramp-low"
    | "titan-embed-text-v2:fedramp-moderate"
    | "titan-embed-text-v2:fedramp-high"
    | "titan-embed-text-v2:il2"
    | "titan-embed-text-v2:il4"
    | "titan-embed-text-v2:il5"
    | "titan-embed-text-v2:itar"
    | "titan-embed-text-v2:fedramp-low+itar"
    | "titan-embed-text-v2:fedramp-moderate+itar"
    | "titan-embed-text-v2:fedramp-high+itar"
    | "titan-embed-text-v2:il2+itar"
    | "titan-embed-text-v2:il4+itar"
    | "titan-embed-text-v2:il5+itar"
}

/** An error. */
export interface ApiErrorBody {
  /** What went wrong. */
  readonly error: {
    /**
     * For programs: the kind of error.
     * @example "invalid_request_error"
     */
    readonly type: string
    /**
     * For people: what is wrong, where, and what would work.
     * @example "max_tokens: must be a positive integer, from 1 to 9007199254740991"
     */
    readonly message: string
    /**
     * Where the cloud's safety system refused the prompt, or it is too long (`context_length_exceeded`).
     * @example "content_filter"
     */
    readonly code?: string
  }
}

/** The gateway is shutting down. */
export interface Draining {
  readonly status: "draining"
  /**
   * The service's name.
   * @example "government-model-gateway"
   */
  readonly service: string
  /**
   * The service's version.
   * @example "0.1.0"
   */
  readonly version: string
  /** For requests with a key: what the boundary rests on beside the partition table. */
  readonly boundary?: {
    /**
     * Addresses of the operator's own by their setting, with what may be served there.
     * @example {"BEDROCK_BASE_URL":"fedramp-high,il5,itar"}
     */
    readonly declared: {
      readonly [name: string]: string
    }
    /**
     * Addresses on loopback by their setting, with the cloud and region that replies name for them.
     * @example {"BEDROCK_BASE_URL":"bedrock/us-gov-west-1"}
     */
    readonly loopback: {
      readonly [name: string]: string
    }
    /**
     * Whether certificates are believed beside those that come with the program.
     * @example false
     */
    readonly extra_certificates: boolean
  }
  /** For requests with a key: the cryptography in use. */
  readonly crypto?: {
    /**
     * The version of OpenSSL.
     * @example "3.5.8"
     */
    readonly openssl: string
    /**
     * Whether it computes with a FIPS provider.
     * @example true
     */
    readonly fips: boolean
  }
}

/** The gateway takes requests. */
export interface Health {
  readonly status: "ok"
  /**
   * The service's name.
   * @example "government-model-gateway"
   */
  readonly service: string
  /**
   * The service's version.
   * @example "0.1.0"
   */
  readonly version: string
  /** For requests with a key: what the boundary rests on beside the partition table. */
  readonly boundary?: {
    /**
     * Addresses of the operator's own by their setting, with what may be served there.
     * @example {"BEDROCK_BASE_URL":"fedramp-high,il5,itar"}
     */
    readonly declared: {
      readonly [name: string]: string
    }
    /**
     * Addresses on loopback by their setting, with the cloud and region that replies name for them.
     * @example {"BEDROCK_BASE_URL":"bedrock/us-gov-west-1"}
     */
    readonly loopback: {
      readonly [name: string]: string
    }
    /**
     * Whether certificates are believed beside those that come with the program.
     * @example false
     */
    readonly extra_certificates: boolean
  }
  /** For requests with a key: the cryptography in use. */
  readonly crypto?: {
    /**
     * The version of OpenSSL.
     * @example "3.5.8"
     */
    readonly openssl: string
    /**
     * Whether it computes with a FIPS provider.
     * @example true
     */
    readonly fips: boolean
  }
}

/** A model at a level. */
export interface Model {
  /**
   * The composite ID to use in requests.
   * @example "claude-sonnet-4-5:il5"
   */
  readonly id: string
  readonly object: "model"
  /**
   * When the model was added, in seconds since 1970.
   * @example 1759104000
   */
  readonly created: number
  /**
   * Who made the model.
   * @example "anthropic"
   */
  readonly owned_by: string
}

/** What the key may use. */
export interface ModelList {
  readonly object: "list"
  /** One entry for each composite ID. */
  readonly data: ReadonlyArray<Model>
}

/** The vectors. */
export interface EmbeddingList {
  readonly object: "list"
  /** One vector for each text, in the order of `input`. */
  readonly data: ReadonlyArray<{
    readonly object: "embedding"
    /**
     * Which text of `input` this is the vector of, from 0.
     * @example 0
     */
    readonly index: number
    /** 1,024 numbers of a vector of length 1, or with `encoding_format` base64 the base64 of little-endian float32 values. */
    readonly embedding: ReadonlyArray<number> | string
  }>
  /**
   * The composite ID that was asked for.
   * @example "titan-embed-text-v2:il5"
   */
  readonly model: string
  /** Tokens of the request. */
  readonly usage: {
    /**
     * Tokens of all texts.
     * @example 2
     */
    readonly prompt_tokens: number
    /**
     * The same: a vector has no tokens.
     * @example 2
     */
    readonly total_tokens: number
  }
  /** What guards of the operator's did with the texts of the request and of the reply; absent where they did nothing. */
  readonly x_gateway_guards?: ReadonlyArray<GuardAction>
}

/** What a guard of the operator's did. */
export interface GuardAction {
  /**
   * The guard, as the operator calls it.
   * @example "personal-data"
   */
  readonly guard: string
  /**
   * What it did: it kept the reply back, only says so, or replaced parts of the text.
   * @example "redact"
   */
  readonly action: "block" | "flag" | "redact"
  /**
   * What it found, in short words; never the text.
   * @example ["ssn"]
   */
  readonly categories: ReadonlyArray<string>
}

/** Texts to embed. Fields that are not listed are ignored. */
export interface EmbeddingsRequest {
  /**
   * Composite ID, `<base_model>:<level>`.
   * @example "claude-sonnet-4-5:il5"
   */
  readonly model: string
  /**
   * The text, or up to 512 of them with 2 MiB of UTF-8 in all; each at most 8,192 tokens, and none empty.
   * @example ["first text","second text"]
   */
  readonly input: string | ReadonlyArray<string>
  /**
   * How each vector is written: numbers, or the base64 of little-endian float32 values.
   * @default "float"
   * @example "base64"
   */
  readonly encoding_format?: "float" | "base64" | null
  readonly [name: string]: unknown
}

/** A part of a message, or of reasoning. */
export type StreamedContent = OutputText | {
  readonly type: "refusal"
  /**
   * Why the model did not answer.
   * @example "I cannot help with that."
   */
  readonly refusal: string
  readonly [name: string]: unknown
} | {
  readonly type: "reasoning_text"
  /**
   * What the model thought.
   * @example "Three baselines exist."
   */
  readonly text: string
  readonly [name: string]: unknown
}

/** A text. */
export interface OutputText {
  readonly type: "output_text"
  /**
   * The text.
   * @example "FedRAMP High is the strictest baseline."
   */
  readonly text: string
  /** Sources that the model names. */
  readonly annotations?: ReadonlyArray<unknown> | null
  /** One entry for each token, where `include` asked for them. */
  readonly logprobs?: ReadonlyArray<unknown> | null
  readonly [name: string]: unknown
}

/** An item of the reply. */
export type OutputItem = OutputMessage | FunctionCall | CustomToolCall | ReasoningItem | LocalShellCall | ShellCall | ApplyPatchCall

/** A change of a file, for the caller to make. */
export interface ApplyPatchCall {
  readonly type: "apply_patch_call"
  /**
   * The call's ID, which the output names.
   * @example "call_1"
   */
  readonly call_id: string
  /**
   * The file and its patch, as the model wrote them.
   * @example {"type":"update_file","path":"notes.txt","diff":"@@\n-old\n+new"}
   */
  readonly operation: unknown
  /**
   * The item's ID, as a reply gave it.
   * @example "msg_01"
   */
  readonly id?: string | null
  readonly [name: string]: unknown
}

/** Commands for the caller's shell. */
export interface ShellCall {
  readonly type: "shell_call"
  /**
   * The call's ID, which the output names.
   * @example "call_1"
   */
  readonly call_id: string
  /**
   * What to run, as the model wrote it.
   * @example {"commands":["ls"]}
   */
  readonly action: unknown
  /**
   * The item's ID, as a reply gave it.
   * @example "msg_01"
   */
  readonly id?: string | null
  readonly [name: string]: unknown
}

/** A command for the caller's shell. */
export interface LocalShellCall {
  readonly type: "local_shell_call"
  /**
   * The call's ID, which the output names.
   * @example "call_1"
   */
  readonly call_id: string
  /**
   * What to run, as the model wrote it.
   * @example {"type":"exec","command":["ls"],"env":{}}
   */
  readonly action: unknown
  /**
   * The item's ID, as a reply gave it.
   * @example "msg_01"
   */
  readonly id?: string | null
  readonly [name: string]: unknown
}

/** What the model thought. Its encrypted content never leaves the cloud, so it is left out of an input. */
export interface ReasoningItem {
  readonly type: "reasoning"
  /**
   * What the model thought, in short.
   * @example []
   */
  readonly summary: ReadonlyArray<{
    readonly type: "summary_text"
    /**
     * A part of it.
     * @example "Three baselines exist."
     */
    readonly text: string
    readonly [name: string]: unknown
  }>
  /** What the model thought, where it says so. */
  readonly content?: ReadonlyArray<{
    readonly type: "reasoning_text"
    /**
     * A part of it.
     * @example "Three."
     */
    readonly text: string
    readonly [name: string]: unknown
  }> | null
  /**
   * The item's ID, as a reply gave it.
   * @example "msg_01"
   */
  readonly id?: string | null
  /**
   * How far the item is, as a reply gave it.
   * @example "completed"
   */
  readonly status?: "in_progress" | "completed" | "incomplete" | (string & {}) | null
  readonly [name: string]: unknown
}

/** A custom tool that the model wants called. */
export interface CustomToolCall {
  readonly type: "custom_tool_call"
  /**
   * The call's ID, which the output names.
   * @example "call_1"
   */
  readonly call_id: string
  /**
   * The tool to call.
   * @example "run_sql"
   */
  readonly name: string
  /**
   * What the model wrote for it.
   * @example "select 1"
   */
  readonly input: string
  /**
   * The item's ID, as a reply gave it.
   * @example "msg_01"
   */
  readonly id?: string | null
  readonly [name: string]: unknown
}

/** A function that the model wants called. */
export interface FunctionCall {
  readonly type: "function_call"
  /**
   * The call's ID, which the output names.
   * @example "call_1"
   */
  readonly call_id: string
  /**
   * The function to call.
   * @example "get_weather"
   */
  readonly name: string
  /**
   * The arguments as JSON text, which may not be valid.
   * @example "{\"city\":\"Denver\"}"
   */
  readonly arguments: string
  /**
   * The item's ID, as a reply gave it.
   * @example "msg_01"
   */
  readonly id?: string | null
  /**
   * How far the item is, as a reply gave it.
   * @example "completed"
   */
  readonly status?: "in_progress" | "completed" | "incomplete" | (string & {}) | null
  readonly [name: string]: unknown
}

/** What the model says. */
export interface OutputMessage {
  readonly type: "message"
  /**
   * The item's ID.
   * @example "msg_01"
   */
  readonly id: string
  readonly role: "assistant"
  /** The parts of the message. */
  readonly content: ReadonlyArray<OutputContent>
  /** How far the item is. */
  readonly status?: "completed" | "failed" | "in_progress" | "cancelled" | "queued" | "incomplete" | (string & {}) | null
  readonly [name: string]: unknown
}

/** A part of a message. */
export type OutputContent = OutputText | {
  readonly type: "refusal"
  /**
   * Why the model did not answer.
   * @example "I cannot help with that."
   */
  readonly refusal: string
  readonly [name: string]: unknown
}

/** A whole reply: what the cloud answered, with the gateway's flag where there is one. */
export interface ResponseObject {
  /**
   * The response's ID. Nothing is stored under it.
   * @example "resp_01"
   */
  readonly id: string
  readonly object: "response"
  /**
   * When it was made, in seconds since 1970.
   * @example 1767225600
   */
  readonly created_at: number
  /** Whether the reply is complete, or how it ended. */
  readonly status?: "completed" | "failed" | "in_progress" | "cancelled" | "queued" | "incomplete" | (string & {}) | null
  /**
   * The cloud's name of the model.
   * @example "gpt-5.1"
   */
  readonly model: string
  /** The items of the reply: reasoning, messages, tool calls. */
  readonly output: ReadonlyArray<OutputItem>
  /** Absent while the reply streams. */
  readonly usage?: ResponseUsage | null
  /** Why it failed. */
  readonly error?: {
    /** For programs: the kind of error. */
    readonly code?: string | null
    /** For people: what went wrong. */
    readonly message?: string | null
    readonly [name: string]: unknown
  } | null
  /** Why it is incomplete. */
  readonly incomplete_details?: {
    /** What ended it early. */
    readonly reason?: "max_output_tokens" | "content_filter" | (string & {}) | null
    readonly [name: string]: unknown
  } | null
  readonly x_gateway_governance?: Governance
  /** What guards of the operator's did with the texts of the request and of the reply; absent where they did nothing. */
  readonly x_gateway_guards?: ReadonlyArray<GuardAction>
  readonly [name: string]: unknown
}

/** Tool calls that name an outbound destination. Advisory: the calls themselves are never changed. Absent where there are none. */
export interface Governance {
  /** One flag for each such call. */
  readonly flags: ReadonlyArray<GovernanceFlag>
}

/** A tool call that names an outbound destination. */
export interface GovernanceFlag {
  /**
   * The ID of the call.
   * @example "call_1"
   */
  readonly tool_call_id: string
  /**
   * The tool that is called.
   * @example "fetch"
   */
  readonly tool_name: string
  /**
   * The URLs and IPv4 addresses in the arguments: each once, in order of appearance.
   * @example ["https://example.com/a"]
   */
  readonly destinations: ReadonlyArray<string>
  readonly reason: "external_destination"
  /** There are more destinations than `destinations` lists; absent otherwise. */
  readonly truncated?: true
  /**
   * How many destinations are not listed.
   * @example 3
   */
  readonly omitted?: number
}

/** Tokens of the request and of the reply. */
export interface ResponseUsage {
  /**
   * Tokens of the request, cached ones included.
   * @example 14
   */
  readonly input_tokens: number
  /**
   * Tokens of the reply, reasoning included.
   * @example 17
   */
  readonly output_tokens: number
  /**
   * Their sum.
   * @example 31
   */
  readonly total_tokens: number
  /** How many tokens of the request came from a cache. */
  readonly input_tokens_details?: {
    /** Tokens that came from the cloud's cache. */
    readonly cached_tokens?: number | null
    readonly [name: string]: unknown
  } | null
  /** How many tokens of the reply were reasoning. */
  readonly output_tokens_details?: {
    /** Tokens that the model thought with. */
    readonly reasoning_tokens?: number | null
    readonly [name: string]: unknown
  } | null
  readonly [name: string]: unknown
}

/** A conversation. Fields that are not listed pass to the cloud. */
export interface ResponsesRequest {
  /**
   * Composite ID, `<base_model>:<level>`.
   * @example "claude-sonnet-4-5:il5"
   */
  readonly model: string
  /**
   * What the user says, as text, or the whole conversation as items.
   * @example "What is FedRAMP High?"
   */
  readonly input: string | ReadonlyArray<InputItem>
  /**
   * Instructions for the model.
   * @example "Answer in one sentence."
   */
  readonly instructions?: string | null
  /**
   * Tools that the model may ask the caller to use; those that run inside the cloud are refused.
   * @example [{"type":"function","name":"get_weather","description":"The weather in a city"}]
   */
  readonly tools?: ReadonlyArray<FunctionTool | CustomTool | NamespaceTool | LocalShellTool | ApplyPatchTool | ShellTool | ToolSearchTool> | null
  /**
   * Whether and which tool is used.
   * @default "auto"
   * @example "required"
   */
  readonly tool_choice?: "auto" | "none" | "required" | {
    readonly type: "function"
    /**
     * The tool's name.
     * @example "get_weather"
     */
    readonly name: string
    readonly [name: string]: unknown
  } | {
    readonly type: "custom"
    /**
     * The tool's name.
     * @example "get_weather"
     */
    readonly name: string
    readonly [name: string]: unknown
  } | {
    readonly type: "local_shell"
    readonly [name: string]: unknown
  } | {
    readonly type: "apply_patch"
    readonly [name: string]: unknown
  } | {
    readonly type: "shell"
    readonly [name: string]: unknown
  } | {
    readonly type: "allowed_tools"
    /**
     * Whether one of them must be used.
     * @example "auto"
     */
    readonly mode: "auto" | "required" | (string & {})
    /**
     * Those that may be used.
     * @example [{"type":"function","name":"get_weather"}]
     */
    readonly tools: ReadonlyArray<{
      readonly type: "function"
      /**
       * The tool's name.
       * @example "get_weather"
       */
      readonly name: string
      readonly [name: string]: unknown
    } | {
      readonly type: "custom"
      /**
       * The tool's name.
       * @example "get_weather"
       */
      readonly name: string
      readonly [name: string]: unknown
    } | {
      readonly type: "local_shell"
      readonly [name: string]: unknown
    } | {
      readonly type: "apply_patch"
      readonly [name: string]: unknown
    } | {
      readonly type: "shell"
      readonly [name: string]: unknown
    }>
    readonly [name: string]: unknown
  } | null
  /**
   * Whether one reply may call several tools.
   * @default true
   * @example false
   */
  readonly parallel_tool_calls?: boolean | null
  /**
   * The most tokens that the reply may have, reasoning included.
   * @example 1000
   */
  readonly max_output_tokens?: number | null
  /**
   * The most calls of built-in tools.
   * @example 4
   */
  readonly max_tool_calls?: number | null
  /**
   * How the model thinks.
   * @example {"effort":"low"}
   */
  readonly reasoning?: {
    /**
     * How much the model thinks before it answers; absent, the catalog's default for the model.
     * @example "low"
     */
    readonly effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | (string & {}) | null
    /**
     * Whether the reply has a summary of what the model thought.
     * @example "auto"
     */
    readonly summary?: "auto" | "concise" | "detailed" | (string & {}) | null
    readonly [name: string]: unknown
  } | null
  /**
   * The format and length of the text.
   * @example {"verbosity":"low"}
   */
  readonly text?: {
    /**
     * What the reply is: any text, JSON, or JSON that follows a schema. Absent, any text.
     * @example {"type":"json_object"}
     */
    readonly format?: {
      readonly type: "text"
      readonly [name: string]: unknown
    } | {
      readonly type: "json_object"
      readonly [name: string]: unknown
    } | {
      readonly type: "json_schema"
      /**
       * The schema's name.
       * @example "weather"
       */
      readonly name: string
      /**
       * A JSON Schema of type object.
       * @example {"type":"object","properties":{"city":{"type":"string"}}}
       */
      readonly schema: {
        readonly [name: string]: unknown
      }
      /**
       * What the schema is for.
       * @example "The weather"
       */
      readonly description?: string | null
      /**
       * Whether the reply must follow the schema exactly.
       * @default false
       * @example true
       */
      readonly strict?: boolean | null
      readonly [name: string]: unknown
    } | null
    /**
     * How long the reply tends to be.
     * @default "medium"
     * @example "low"
     */
    readonly verbosity?: "low" | "medium" | "high" | (string & {}) | null
    readonly [name: string]: unknown
  } | null
  /**
   * Sampling temperature, from 0 to 2: more makes replies more varied. Models that think refuse it.
   * @example 0.2
   */
  readonly temperature?: number | null
  /**
   * Nucleus sampling: only the likeliest tokens with this probability in all. Models that think refuse it.
   * @example 0.9
   */
  readonly top_p?: number | null
  /**
   * How many alternatives of each token to report, up to 20.
   * @example 3
   */
  readonly top_logprobs?: number | null
  /**
   * Whether the oldest items are left out where the input is too long.
   * @default "disabled"
   * @example "auto"
   */
  readonly truncation?: "auto" | "disabled" | (string & {}) | null
  /**
   * Notes of the caller's, which the reply repeats; nothing is stored.
   * @example {"case":"4711"}
   */
  readonly metadata?: {
    readonly [name: string]: string
  } | null
  /**
   * What else the reply has; `reasoning.encrypted_content` is taken out.
   * @example ["message.output_text.logprobs"]
   */
  readonly include?: ReadonlyArray<string> | null
  /**
   * Your own identifier of the end user; do not put a secret here.
   * @example "u-1"
   */
  readonly user?: string | null
  /**
   * Requests with the same key are likely to find each other's prompt in the cloud's cache.
   * @example "handbook-v2"
   */
  readonly prompt_cache_key?: string | null
  /**
   * Whether the reply comes as server-sent events.
   * @default false
   * @example true
   */
  readonly stream?: boolean | null
  /**
   * Nothing is stored: true is refused.
   * @default false
   * @example false
   */
  readonly store?: false | null
  /** Refused: not available, because nothing is stored; send the full input each turn. */
  readonly previous_response_id?: null
  /**
   * True is refused, because nothing is stored.
   * @default false
   * @example false
   */
  readonly background?: false | null
  /** Refused: not available, because nothing is stored; send the full input each turn. */
  readonly conversation?: null
  /** Refused: not available, because nothing is stored; send the text itself. */
  readonly prompt?: null
  readonly [name: string]: unknown
}

/** A search among tools that the caller executes; the cloud's own is refused. */
export interface ToolSearchTool {
  readonly type: "tool_search"
  /**
   * Who searches.
   * @example "client"
   */
  readonly execution: "client"
  /**
   * What it does, for the model.
   * @example "The weather in a city"
   */
  readonly description?: string | null
  /**
   * The parameters as a JSON Schema of type object.
   * @example {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}
   */
  readonly parameters?: {
    readonly [name: string]: unknown
  } | null
  readonly [name: string]: unknown
}

/** A shell of the caller's; other environments are refused. */
export interface ShellTool {
  readonly type: "shell"
  /**
   * Where it runs.
   * @example {"type":"local"}
   */
  readonly environment: {
    readonly type: "local"
    readonly [name: string]: unknown
  }
  readonly [name: string]: unknown
}

/** Patches that the caller applies. */
export interface ApplyPatchTool {
  readonly type: "apply_patch"
  readonly [name: string]: unknown
}

/** A shell of the caller's. */
export interface LocalShellTool {
  readonly type: "local_shell"
  readonly [name: string]: unknown
}

/** Tools under one name. */
export interface NamespaceTool {
  readonly type: "namespace"
  /**
   * The tool's name.
   * @example "get_weather"
   */
  readonly name: string
  /**
   * What it does, for the model.
   * @example "The weather in a city"
   */
  readonly description?: string | null
  /** The tools of this name. */
  readonly tools: ReadonlyArray<FunctionTool | CustomTool>
  readonly [name: string]: unknown
}

/** A tool that takes any text. */
export interface CustomTool {
  readonly type: "custom"
  /**
   * The tool's name.
   * @example "get_weather"
   */
  readonly name: string
  /**
   * What it does, for the model.
   * @example "The weather in a city"
   */
  readonly description?: string | null
  /**
   * What its input may be.
   * @example {"type":"text"}
   */
  readonly format?: {
    readonly type: "text"
    readonly [name: string]: unknown
  } | {
    readonly type: "grammar"
    /**
     * The grammar's language.
     * @example "regex"
     */
    readonly syntax: "lark" | "regex" | (string & {})
    /**
     * The grammar.
     * @example "[0-9]+"
     */
    readonly definition: string
    readonly [name: string]: unknown
  } | null
  readonly [name: string]: unknown
}

/** A function. Parameter names that describe an outbound destination are refused. */
export interface FunctionTool {
  readonly type: "function"
  /**
   * The tool's name.
   * @example "get_weather"
   */
  readonly name: string
  /**
   * What it does, for the model.
   * @example "The weather in a city"
   */
  readonly description?: string | null
  /**
   * The parameters as a JSON Schema of type object.
   * @example {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}
   */
  readonly parameters?: {
    readonly [name: string]: unknown
  } | null
  /**
   * Whether the arguments must follow the schema exactly.
   * @example true
   */
  readonly strict?: boolean | null
  readonly [name: string]: unknown
}

/** An item of the conversation. */
export type InputItem = FunctionCall | FunctionCallOutput | CustomToolCall | CustomToolCallOutput | ReasoningItem | LocalShellCall | ShellCall | ApplyPatchCall | {
  readonly type: "local_shell_call_output"
  /**
   * What the shell printed.
   * @example "ok"
   */
  readonly output: string
  readonly [name: string]: unknown
} | {
  readonly type: "shell_call_output"
  /**
   * The `call_id` of the call that this answers.
   * @example "call_1"
   */
  readonly call_id: string
  /**
   * What the commands printed, one entry each.
   * @example [{"stdout":"notes.txt","stderr":"","outcome":{"type":"exit","exit_code":0}}]
   */
  readonly output: unknown
  readonly [name: string]: unknown
} | {
  readonly type: "apply_patch_call_output"
  /**
   * The `call_id` of the call that this answers.
   * @example "call_1"
   */
  readonly call_id: string
  /**
   * Whether the patch was applied.
   * @example "completed"
   */
  readonly status?: "completed" | "failed" | (string & {}) | null
  /**
   * What happened.
   * @example "applied"
   */
  readonly output?: string | null
  readonly [name: string]: unknown
} | InputMessage | ItemReference

/** Refused: items cannot be referred to, because nothing is stored. */
export interface ItemReference {
  /**
   * The item's ID.
   * @example "msg_01"
   */
  readonly id: string
  /** Refused: an item that has no content has no type. */
  readonly type?: null
  /** Refused: an item that has no content has no role. */
  readonly role?: null
  readonly [name: string]: unknown
}

/** A message of the conversation. */
export interface InputMessage {
  /**
   * May be left out.
   * @default "message"
   * @example "message"
   */
  readonly type?: "message" | null
  /**
   * Who speaks.
   * @example "user"
   */
  readonly role: "user" | "assistant" | "system" | "developer"
  /**
   * A text, or parts.
   * @example "What is FedRAMP High?"
   */
  readonly content: string | ReadonlyArray<InputContent>
  /**
   * The item's ID, as a reply gave it.
   * @example "msg_01"
   */
  readonly id?: string | null
  /**
   * How far the item is, as a reply gave it.
   * @example "completed"
   */
  readonly status?: "in_progress" | "completed" | "incomplete" | (string & {}) | null
  readonly [name: string]: unknown
}

/** A part of a message. */
export type InputContent = InputText | InputImage | InputFile | {
  readonly type: "output_text"
  /**
   * What the model said.
   * @example "It is a chart."
   */
  readonly text: string
  readonly [name: string]: unknown
} | {
  readonly type: "refusal"
  /**
   * Why the model did not answer.
   * @example "I cannot help with that."
   */
  readonly refusal: string
  readonly [name: string]: unknown
}

/** A PDF, inline. */
export interface InputFile {
  readonly type: "input_file"
  /** Refused: not available, URLs are not fetched; send the data inline, as file_data. */
  readonly file_url?: null
  /** Refused: not available, because nothing is stored; send the data inline. */
  readonly file_id?: null
  /**
   * The file's name.
   * @example "report.pdf"
   */
  readonly filename?: string | null
  /**
   * A data URI of type application/pdf; URLs and file IDs are refused.
   * @example "data:application/pdf;base64,JVBERi0xLjcK"
   */
  readonly file_data: string
  readonly [name: string]: unknown
}

/** An image, inline. */
export interface InputImage {
  readonly type: "input_image"
  /** Refused: not available, because nothing is stored; send the data inline. */
  readonly file_id?: null
  /**
   * A data URI of type image/jpeg, image/png, image/gif or image/webp; URLs and file IDs are refused.
   * @example "data:image/png;base64,iVBORw0KGgo="
   */
  readonly image_url: string
  /**
   * How closely the model looks.
   * @default "auto"
   * @example "low"
   */
  readonly detail?: "low" | "high" | "auto" | "original" | (string & {}) | null
  readonly [name: string]: unknown
}

/** A text. */
export interface InputText {
  readonly type: "input_text"
  /**
   * The text.
   * @example "What is in this picture?"
   */
  readonly text: string
  readonly [name: string]: unknown
}

/** What a custom tool answered. */
export interface CustomToolCallOutput {
  readonly type: "custom_tool_call_output"
  /**
   * The `call_id` of the call that this answers.
   * @example "call_1"
   */
  readonly call_id: string
  /**
   * What the tool answered.
   * @example "21 °C"
   */
  readonly output: string | ReadonlyArray<InputText | InputImage | InputFile>
  /**
   * The item's ID, as a reply gave it.
   * @example "msg_01"
   */
  readonly id?: string | null
  readonly [name: string]: unknown
}

/** What a function answered. */
export interface FunctionCallOutput {
  readonly type: "function_call_output"
  /**
   * The `call_id` of the call that this answers.
   * @example "call_1"
   */
  readonly call_id: string
  /**
   * What the tool answered.
   * @example "21 °C"
   */
  readonly output: string | ReadonlyArray<InputText | InputImage | InputFile>
  /**
   * The item's ID, as a reply gave it.
   * @example "msg_01"
   */
  readonly id?: string | null
  /**
   * How far the item is, as a reply gave it.
   * @example "completed"
   */
  readonly status?: "in_progress" | "completed" | "incomplete" | (string & {}) | null
  readonly [name: string]: unknown
}

/** An error, in the shape of the messages format. */
export interface MessagesErrorBody {
  readonly type: "error"
  /** What went wrong. */
  readonly error: {
    /**
     * For programs: the kind of error.
     * @example "invalid_request_error"
     */
    readonly type: string
    /**
     * For people: what is wrong, where, and what would work.
     * @example "max_tokens: must be a positive integer, from 1 to 9007199254740991"
     */
    readonly message: string
    /** What client libraries read beside the message; rarely there. */
    readonly details?: {
      readonly [name: string]: unknown
    }
  }
}

/** The count. */
export interface CountTokensReply {
  /**
   * What the same request would report as `usage.input_tokens`.
   * @example 14
   */
  readonly input_tokens: number
  /** What guards of the operator's did with the texts of the request and of the reply; absent where they did nothing. */
  readonly x_gateway_guards?: ReadonlyArray<GuardAction>
}

/** A conversation whose tokens are counted. */
export interface CountTokensRequest {
  /**
   * Composite ID, `<base_model>:<level>`.
   * @example "claude-sonnet-4-5:il5"
   */
  readonly model: string
  /**
   * The conversation so far, oldest message first.
   * @example [{"role":"user","content":"What is FedRAMP High?"}]
   */
  readonly messages: ReadonlyArray<MessageParam>
  /**
   * Instructions for the model.
   * @example "Answer in one sentence."
   */
  readonly system?: string | ReadonlyArray<TextBlockParam> | null
  /**
   * Tools that the model may ask the caller to use; those that run inside the cloud are refused.
   * @example [{"name":"get_weather","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}]
   */
  readonly tools?: ReadonlyArray<MessagesTool | MessagesVendorTool> | null
  /**
   * Whether and which tool is used; absent, the model decides.
   * @example {"type":"any"}
   */
  readonly tool_choice?: {
    readonly type: "auto"
    /**
     * Whether a reply may call one tool only.
     * @default false
     * @example true
     */
    readonly disable_parallel_tool_use?: boolean | null
    readonly [name: string]: unknown
  } | {
    readonly type: "any"
    /**
     * Whether a reply may call one tool only.
     * @default false
     * @example true
     */
    readonly disable_parallel_tool_use?: boolean | null
    readonly [name: string]: unknown
  } | {
    readonly type: "tool"
    /**
     * The tool to call.
     * @example "get_weather"
     */
    readonly name: string
    /**
     * Whether a reply may call one tool only.
     * @default false
     * @example true
     */
    readonly disable_parallel_tool_use?: boolean | null
    readonly [name: string]: unknown
  } | {
    readonly type: "none"
    readonly [name: string]: unknown
  } | null
  /**
   * Extended thinking; what the model would refuse is adjusted, and `x-gateway-thinking-adjusted` says how.
   * @example {"type":"enabled","budget_tokens":2048}
   */
  readonly thinking?: {
    readonly type: "enabled"
    /**
     * Tokens to think with: adjusted to fit below `max_tokens`, and at least 1,024.
     * @example 2048
     */
    readonly budget_tokens: number
    readonly [name: string]: unknown
  } | {
    readonly type: "adaptive"
    readonly [name: string]: unknown
  } | {
    readonly type: "disabled"
    readonly [name: string]: unknown
  } | null
  /**
   * Betas to use, a list or a text with commas, as in the header `anthropic-beta`; those that the deployment does not have are removed.
   * @example ["interleaved-thinking-2025-05-14"]
   */
  readonly anthropic_beta?: unknown
  /**
   * The version of the vendor's API to send, instead of the gateway's own choice.
   * @example "vertex-2023-10-16"
   */
  readonly anthropic_version?: string | null
  /**
   * Another name of `anthropic_version`, which wins.
   * @example "vertex-2023-10-16"
   */
  readonly vendor_version?: string | null
  readonly [name: string]: unknown
}

/** A tool whose definition is the vendor's, and which the caller executes. Those that run inside the cloud are refused. */
export interface MessagesVendorTool {
  /**
   * The vendor's name of the tool, with the date of its version.
   * @example "bash_20250124"
   */
  readonly type: `${"bash_" | "browser_" | "text_editor_" | "computer_" | "memory_" | "str_replace_" | "tool_search_tool_"}${string}`
  /**
   * The tool's name, as the vendor has it; a toolset has none.
   * @example "bash"
   */
  readonly name?: string | null
  /**
   * The prompt up to here may be reused.
   * @example {"type":"ephemeral"}
   */
  readonly cache_control?: CacheControl | null
  readonly [name: string]: unknown
}

/** The prompt up to here may be kept in the cloud's cache. */
export type CacheControl = {
  readonly type: "ephemeral"
  /**
   * How long it is kept.
   * @default "5m"
   * @example "1h"
   */
  readonly ttl?: "5m" | "1h" | (string & {}) | null
  readonly [name: string]: unknown
}

/** A tool that the caller executes. */
export interface MessagesTool {
  /**
   * May be left out.
   * @default "custom"
   * @example "custom"
   */
  readonly type?: "custom" | null
  /**
   * The tool's name.
   * @example "get_weather"
   */
  readonly name: string
  /**
   * What it does, for the model.
   * @example "The weather in a city"
   */
  readonly description?: string | null
  /**
   * Its input as a JSON Schema of type object.
   * @example {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}
   */
  readonly input_schema: {
    readonly [name: string]: unknown
  }
  /**
   * Whether the input must follow the schema exactly.
   * @default false
   * @example true
   */
  readonly strict?: boolean | null
  /**
   * The prompt up to here may be reused.
   * @example {"type":"ephemeral"}
   */
  readonly cache_control?: CacheControl | null
  readonly [name: string]: unknown
}

/** A text. */
export interface TextBlockParam {
  readonly type: "text"
  /**
   * The text.
   * @example "What is FedRAMP High?"
   */
  readonly text: string
  /**
   * The prompt up to here may be reused.
   * @example {"type":"ephemeral"}
   */
  readonly cache_control?: CacheControl | null
  readonly [name: string]: unknown
}

/** A message of the conversation. */
export interface MessageParam {
  /**
   * Who speaks.
   * @example "user"
   */
  readonly role: "user" | "assistant" | "system"
  /**
   * A text, or blocks.
   * @example "What is FedRAMP High?"
   */
  readonly content: string | ReadonlyArray<ContentBlockParam>
  readonly [name: string]: unknown
}

/** A block of a message. */
export type ContentBlockParam = TextBlockParam | ImageBlock | DocumentBlock | SearchResultBlock | ToolUseBlockParam | ToolResultBlock | ThinkingBlock | RedactedThinkingBlock

/** Thinking that the vendor does not show. */
export interface RedactedThinkingBlock {
  readonly type: "redacted_thinking"
  /**
   * Encrypted; return it unchanged.
   * @example "EmwKAhgBEgy"
   */
  readonly data: string
  readonly [name: string]: unknown
}

/** What the model thought. */
export interface ThinkingBlock {
  readonly type: "thinking"
  /**
   * What the model thought.
   * @example "Three baselines exist…"
   */
  readonly thinking: string
  /**
   * The vendor's signature of the thinking; return it unchanged.
   * @example "EqQBCgIYAhIM"
   */
  readonly signature: string
  readonly [name: string]: unknown
}

/** What a tool answered; in the user's message after the call. */
export interface ToolResultBlock {
  readonly type: "tool_result"
  /**
   * The `id` of the call that this answers.
   * @example "toolu_01"
   */
  readonly tool_use_id: string
  /**
   * What the tool answered.
   * @example "21 °C"
   */
  readonly content?: string | ReadonlyArray<TextBlockParam | ImageBlock | DocumentBlock | SearchResultBlock> | null
  /**
   * Whether the tool failed.
   * @default false
   * @example true
   */
  readonly is_error?: boolean | null
  /**
   * The prompt up to here may be reused.
   * @example {"type":"ephemeral"}
   */
  readonly cache_control?: CacheControl | null
  readonly [name: string]: unknown
}

/** A search result of the caller's, which the model may cite. */
export interface SearchResultBlock {
  readonly type: "search_result"
  /**
   * Where it was found: a text that the model may cite.
   * @example "handbook, page 12"
   */
  readonly source: string
  /**
   * Its title.
   * @example "Baselines"
   */
  readonly title: string
  /** What was found. */
  readonly content: ReadonlyArray<TextBlockParam>
  /**
   * Whether the reply may cite this.
   * @example {"enabled":true}
   */
  readonly citations?: {
    /**
     * Whether they are on.
     * @default false
     * @example true
     */
    readonly enabled?: boolean | null
    readonly [name: string]: unknown
  } | null
  /**
   * The prompt up to here may be reused.
   * @example {"type":"ephemeral"}
   */
  readonly cache_control?: CacheControl | null
  readonly [name: string]: unknown
}

/** A PDF or a text, inline. URLs and stored files are refused. */
export interface DocumentBlock {
  readonly type: "document"
  /** The document itself. */
  readonly source: {
    readonly type: "base64"
    /**
     * What the bytes are.
     * @example "application/pdf"
     */
    readonly media_type: "application/pdf"
    /**
     * The bytes in base64.
     * @example "JVBERi0xLjcK"
     */
    readonly data: string
    readonly [name: string]: unknown
  } | {
    readonly type: "text"
    /**
     * What the data is.
     * @example "text/plain"
     */
    readonly media_type: "text/plain"
    /**
     * The text.
     * @example "Chapter one"
     */
    readonly data: string
    readonly [name: string]: unknown
  } | {
    readonly type: "content"
    /**
     * A text, or blocks of text and images.
     * @example "Chapter one"
     */
    readonly content: string | ReadonlyArray<TextBlockParam | ImageBlock>
    readonly [name: string]: unknown
  }
  /**
   * The document's title.
   * @example "Report"
   */
  readonly title?: string | null
  /**
   * What the model should know about the document.
   * @example "Draft of May"
   */
  readonly context?: string | null
  /**
   * Whether the reply may cite this.
   * @example {"enabled":true}
   */
  readonly citations?: {
    /**
     * Whether they are on.
     * @default false
     * @example true
     */
    readonly enabled?: boolean | null
    readonly [name: string]: unknown
  } | null
  /**
   * The prompt up to here may be reused.
   * @example {"type":"ephemeral"}
   */
  readonly cache_control?: CacheControl | null
  readonly [name: string]: unknown
}

/** An image, inline. URLs and stored files are refused. */
export interface ImageBlock {
  readonly type: "image"
  /** The image itself. */
  readonly source: {
    readonly type: "base64"
    /**
     * What the bytes are.
     * @example "image/png"
     */
    readonly media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp"
    /**
     * The bytes in base64.
     * @example "iVBORw0KGgo="
     */
    readonly data: string
    readonly [name: string]: unknown
  }
  /**
   * The prompt up to here may be reused.
   * @example {"type":"ephemeral"}
   */
  readonly cache_control?: CacheControl | null
  readonly [name: string]: unknown
}

/** A tool call of an earlier reply. */
export interface ToolUseBlockParam {
  readonly type: "tool_use"
  /**
   * The call's ID, which the `tool_result` names.
   * @example "toolu_01"
   */
  readonly id: string
  /**
   * The tool's name.
   * @example "get_weather"
   */
  readonly name: string
  /**
   * The arguments.
   * @example {"city":"Denver"}
   */
  readonly input: {
    readonly [name: string]: unknown
  }
  /**
   * The prompt up to here may be reused.
   * @example {"type":"ephemeral"}
   */
  readonly cache_control?: CacheControl | null
  readonly [name: string]: unknown
}

/** Tokens of the request and of the reply. */
export interface MessageUsage {
  /** Tokens of the request, without cached ones. */
  readonly input_tokens?: number | null
  /**
   * Tokens of the reply, thinking included.
   * @example 17
   */
  readonly output_tokens: number
  /** Tokens that were written to the cache. */
  readonly cache_creation_input_tokens?: number | null
  /** Tokens that were read from the cache. */
  readonly cache_read_input_tokens?: number | null
  readonly [name: string]: unknown
}

/** What is added to a block. */
export type ContentBlockDelta = {
  readonly type: "text_delta"
  /**
   * The next piece of the text.
   * @example "FedRAMP"
   */
  readonly text: string
  readonly [name: string]: unknown
} | {
  readonly type: "input_json_delta"
  /**
   * The next piece of the JSON text of a tool's input.
   * @example "{\"ci"
   */
  readonly partial_json: string
  readonly [name: string]: unknown
} | {
  readonly type: "thinking_delta"
  /**
   * The next piece of the thinking.
   * @example "Three"
   */
  readonly thinking: string
  readonly [name: string]: unknown
} | {
  readonly type: "signature_delta"
  /**
   * The signature of a thinking block.
   * @example "EqQBCgIYAhIM"
   */
  readonly signature: string
  readonly [name: string]: unknown
} | {
  readonly type: "citations_delta"
  /** One citation more. */
  readonly citation: unknown
  readonly [name: string]: unknown
}

/** A block of the reply. */
export type ContentBlock = TextBlock | ToolUseBlock | ThinkingBlock | RedactedThinkingBlock

/** A tool that the model wants called. */
export interface ToolUseBlock {
  readonly type: "tool_use"
  /**
   * The call's ID, which the `tool_result` names.
   * @example "toolu_01"
   */
  readonly id: string
  /**
   * The tool to call.
   * @example "get_weather"
   */
  readonly name: string
  /** The arguments. */
  readonly input: {
    readonly [name: string]: unknown
  }
  readonly [name: string]: unknown
}

/** A text. */
export interface TextBlock {
  readonly type: "text"
  /**
   * The text.
   * @example "FedRAMP High is the strictest baseline."
   */
  readonly text: string
  /** What the text rests on, where documents allow citations. */
  readonly citations?: unknown
  readonly [name: string]: unknown
}

/** A whole reply. */
export interface Message {
  /**
   * The message's ID.
   * @example "msg_01"
   */
  readonly id: string
  readonly type: "message"
  readonly role: "assistant"
  /** The blocks of the reply: thinking, text, tool calls. */
  readonly content: ReadonlyArray<ContentBlock>
  /**
   * The base model, without the level.
   * @example "claude-sonnet-4-5"
   */
  readonly model: string
  /** Why the reply ended; null at the start of a stream. */
  readonly stop_reason: "end_turn" | "max_tokens" | "stop_sequence" | "tool_use" | "pause_turn" | "refusal" | "model_context_window_exceeded" | (string & {}) | null
  /** The stop sequence that ended it. */
  readonly stop_sequence?: string | null
  readonly usage: MessageUsage
  readonly x_gateway_governance?: Governance
  /** What guards of the operator's did with the texts of the request and of the reply; absent where they did nothing. */
  readonly x_gateway_guards?: ReadonlyArray<GuardAction>
  readonly [name: string]: unknown
}

/** A conversation. Fields that are not listed pass to the model's own API. */
export interface MessagesRequest {
  /**
   * Composite ID, `<base_model>:<level>`.
   * @example "claude-sonnet-4-5:il5"
   */
  readonly model: string
  /**
   * The conversation so far, oldest message first.
   * @example [{"role":"user","content":"What is FedRAMP High?"}]
   */
  readonly messages: ReadonlyArray<MessageParam>
  /**
   * Instructions for the model.
   * @example "Answer in one sentence."
   */
  readonly system?: string | ReadonlyArray<TextBlockParam> | null
  /**
   * Tools that the model may ask the caller to use; those that run inside the cloud are refused.
   * @example [{"name":"get_weather","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}]
   */
  readonly tools?: ReadonlyArray<MessagesTool | MessagesVendorTool> | null
  /**
   * Whether and which tool is used; absent, the model decides.
   * @example {"type":"any"}
   */
  readonly tool_choice?: {
    readonly type: "auto"
    /**
     * Whether a reply may call one tool only.
     * @default false
     * @example true
     */
    readonly disable_parallel_tool_use?: boolean | null
    readonly [name: string]: unknown
  } | {
    readonly type: "any"
    /**
     * Whether a reply may call one tool only.
     * @default false
     * @example true
     */
    readonly disable_parallel_tool_use?: boolean | null
    readonly [name: string]: unknown
  } | {
    readonly type: "tool"
    /**
     * The tool to call.
     * @example "get_weather"
     */
    readonly name: string
    /**
     * Whether a reply may call one tool only.
     * @default false
     * @example true
     */
    readonly disable_parallel_tool_use?: boolean | null
    readonly [name: string]: unknown
  } | {
    readonly type: "none"
    readonly [name: string]: unknown
  } | null
  /**
   * Extended thinking; what the model would refuse is adjusted, and `x-gateway-thinking-adjusted` says how.
   * @example {"type":"enabled","budget_tokens":2048}
   */
  readonly thinking?: {
    readonly type: "enabled"
    /**
     * Tokens to think with: adjusted to fit below `max_tokens`, and at least 1,024.
     * @example 2048
     */
    readonly budget_tokens: number
    readonly [name: string]: unknown
  } | {
    readonly type: "adaptive"
    readonly [name: string]: unknown
  } | {
    readonly type: "disabled"
    readonly [name: string]: unknown
  } | null
  /**
   * Betas to use, a list or a text with commas, as in the header `anthropic-beta`; those that the deployment does not have are removed.
   * @example ["interleaved-thinking-2025-05-14"]
   */
  readonly anthropic_beta?: unknown
  /**
   * The version of the vendor's API to send, instead of the gateway's own choice.
   * @example "vertex-2023-10-16"
   */
  readonly anthropic_version?: string | null
  /**
   * Another name of `anthropic_version`, which wins.
   * @example "vertex-2023-10-16"
   */
  readonly vendor_version?: string | null
  /**
   * The most tokens that the reply may have, thinking included.
   * @example 1024
   */
  readonly max_tokens: number
  /**
   * Whether the reply comes as server-sent events.
   * @default false
   * @example true
   */
  readonly stream?: boolean | null
  /**
   * Texts that end the reply before they appear in it.
   * @example ["END"]
   */
  readonly stop_sequences?: ReadonlyArray<string> | null
  /**
   * Sampling temperature, from 0 to 1: more makes replies more varied. Removed beside thinking.
   * @example 0.2
   */
  readonly temperature?: number | null
  /**
   * Nucleus sampling: only the likeliest tokens with this probability in all. Removed beside thinking.
   * @example 0.9
   */
  readonly top_p?: number | null
  /**
   * How many of the likeliest tokens to choose from. Removed beside thinking.
   * @example 40
   */
  readonly top_k?: number | null
  /**
   * About the request, for the vendor.
   * @example {"user_id":"u-1"}
   */
  readonly metadata?: {
    /**
     * Your own identifier of the end user; do not put a secret here.
     * @example "u-1"
     */
    readonly user_id?: string | null
    readonly [name: string]: unknown
  } | null
  /**
   * How the reply is made: its effort, its format.
   * @example {"effort":"high"}
   */
  readonly output_config?: {
    /**
     * How much the model does for a reply; for models that think adaptively.
     * @example "high"
     */
    readonly effort?: "low" | "medium" | "high" | "xhigh" | "max" | (string & {}) | null
    /** JSON of a schema, where the deployment has it. */
    readonly format?: {
      readonly type: "json_schema"
      /**
       * A JSON Schema of type object.
       * @example {"type":"object","properties":{"city":{"type":"string"}}}
       */
      readonly schema: {
        readonly [name: string]: unknown
      }
      readonly [name: string]: unknown
    } | null
    readonly [name: string]: unknown
  } | null
  readonly [name: string]: unknown
}

/** A failure after the stream began: its last event, without `[DONE]` after it. */
export interface ChatStreamError {
  /** What went wrong. */
  readonly error: {
    /**
     * For programs: the kind of error.
     * @example "api_error"
     */
    readonly type: string
    /**
     * For people: what went wrong.
     * @example "the cloud ended its reply early"
     */
    readonly message: string
    readonly [name: string]: unknown
  }
  readonly x_gateway_governance?: Governance
  /** What guards of the operator's did with the texts of the request and of the reply; absent where they did nothing. */
  readonly x_gateway_guards?: ReadonlyArray<GuardAction>
}

/** One event of a stream. The final one has `finish_reason`, and `usage` where `include_usage` asked for it; then comes `[DONE]`. */
export interface ChatCompletionChunk {
  /**
   * The completion's ID.
   * @example "chatcmpl-3c9f5f0e-6d0b-4f3c-9f0e-0f6a1d2b7c11"
   */
  readonly id: string
  readonly object: "chat.completion.chunk"
  /**
   * When the request arrived, in seconds since 1970.
   * @example 1767225600
   */
  readonly created: number
  /**
   * The composite ID that was asked for.
   * @example "claude-sonnet-4-5:il5"
   */
  readonly model: string
  /** The next piece of the reply, as a list of one. */
  readonly choices: ReadonlyArray<{
    /**
     * Always 0: there is one choice.
     * @example 0
     */
    readonly index: number
    /** What is added to the message. The first has the role, the last is empty. */
    readonly delta: {
      readonly role?: "assistant"
      /** The next piece of the text. */
      readonly content?: string | null
      /** The next pieces of tool calls. */
      readonly tool_calls?: ReadonlyArray<{
        /**
         * Which of the reply's calls this is a piece of, from 0.
         * @example 0
         */
        readonly index: number
        /**
         * The call's ID; in its first piece.
         * @example "call_1"
         */
        readonly id?: string
        readonly type?: "function"
        /** What is called, and with what. */
        readonly function?: {
          /**
           * The function's name; in its first piece.
           * @example "get_weather"
           */
          readonly name?: string
          /**
           * The next piece of the arguments' JSON text.
           * @example "{\"city\""
           */
          readonly arguments?: string
        }
        /** What a vendor needs back in the next request: return the message unchanged. */
        readonly extra_content?: unknown
        readonly [name: string]: unknown
      }>
      /** The next piece of a refusal. */
      readonly refusal?: string | null
      /** What a vendor needs back in the next request: return the message unchanged. */
      readonly extra_content?: unknown
      readonly [name: string]: unknown
    }
    /** Log probabilities of these tokens, where `logprobs` asked for them. */
    readonly logprobs?: {
      /** One entry for each token. */
      readonly content?: ReadonlyArray<unknown> | null
      readonly [name: string]: unknown
    } | null
    /** Why the reply ended; null until the final chunk. */
    readonly finish_reason: FinishReason | null
    readonly [name: string]: unknown
  }>
  readonly usage?: Usage
  readonly x_gateway_governance?: Governance
  /** What guards of the operator's did with the texts of the request and of the reply; absent where they did nothing. */
  readonly x_gateway_guards?: ReadonlyArray<GuardAction>
  readonly [name: string]: unknown
}

/** Tokens of the request and of the reply. */
export interface Usage {
  /**
   * Tokens of the request, cached ones included.
   * @example 14
   */
  readonly prompt_tokens: number
  /**
   * Tokens of the reply, reasoning included.
   * @example 17
   */
  readonly completion_tokens: number
  /**
   * Their sum.
   * @example 31
   */
  readonly total_tokens: number
  /** How many tokens of the request came from a cache, and how many were written to one. */
  readonly prompt_tokens_details?: {
    /**
     * Tokens that came from the cloud's cache.
     * @example 0
     */
    readonly cached_tokens: number
    /**
     * Tokens that were written to it; absent where there are none.
     * @example 0
     */
    readonly cache_write_tokens?: number
  }
  /** How many tokens of the reply were reasoning; absent where the cloud does not count them. */
  readonly completion_tokens_details?: {
    /**
     * Tokens that the model thought with.
     * @example 0
     */
    readonly reasoning_tokens: number
  }
  readonly [name: string]: unknown
}

/** Why the reply ended: at its natural end or at a stop sequence, at the token limit, to call tools, or by the provider's filter. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter"

/** A whole reply. */
export interface ChatCompletion {
  /**
   * The completion's ID.
   * @example "chatcmpl-3c9f5f0e-6d0b-4f3c-9f0e-0f6a1d2b7c11"
   */
  readonly id: string
  readonly object: "chat.completion"
  /**
   * When the request arrived, in seconds since 1970.
   * @example 1767225600
   */
  readonly created: number
  /**
   * The composite ID that was asked for.
   * @example "claude-sonnet-4-5:il5"
   */
  readonly model: string
  /** The reply, as a list of one. */
  readonly choices: ReadonlyArray<{
    /**
     * Always 0: there is one choice.
     * @example 0
     */
    readonly index: number
    /** What the model answered: send it back unchanged as the next request's assistant message. */
    readonly message: {
      readonly role: "assistant"
      /** The text; null where the model only calls tools. */
      readonly content: string | null
      /** The tools that the model wants called. */
      readonly tool_calls?: ReadonlyArray<ToolCall>
      /** Why the model did not answer, where it says so. */
      readonly refusal?: string | null
      /** Sources that the model names. */
      readonly annotations?: ReadonlyArray<unknown> | null
      /** What a vendor needs back in the next request: return the message unchanged. */
      readonly extra_content?: unknown
      readonly [name: string]: unknown
    }
    /** Log probabilities of the tokens, where `logprobs` asked for them. */
    readonly logprobs?: {
      /** One entry for each token. */
      readonly content?: ReadonlyArray<unknown> | null
      readonly [name: string]: unknown
    } | null
    readonly finish_reason: FinishReason
    readonly [name: string]: unknown
  }>
  readonly usage: Usage
  /** The tier that the cloud served the request in. */
  readonly service_tier?: string | null
  /** The cloud's name for the version of its backend. */
  readonly system_fingerprint?: string | null
  readonly x_gateway_governance?: Governance
  /** What guards of the operator's did with the texts of the request and of the reply; absent where they did nothing. */
  readonly x_gateway_guards?: ReadonlyArray<GuardAction>
  readonly [name: string]: unknown
}

/** A tool that the model wants called. */
export interface ToolCall {
  /**
   * The call's ID, which the tool message names.
   * Limits: characters, at most 256.
   * @example "call_1"
   */
  readonly id: string
  /**
   * The kind of tool.
   * @example "function"
   */
  readonly type?: "function" | null
  /** What is called, and with what. */
  readonly function: {
    /**
     * The function's name, as the model wrote it.
     * @example "get_weather"
     */
    readonly name: string
    /**
     * The arguments as JSON text, which may not be valid.
     * @example "{\"city\":\"Denver\"}"
     */
    readonly arguments: string
    readonly [name: string]: unknown
  }
  /**
   * What a vendor needs back in the next request: return the message unchanged.
   * @example {"google":{"thought_signature":"EqQBCgIYAhIM"}}
   */
  readonly extra_content?: unknown
  readonly [name: string]: unknown
}

/** A conversation. Fields that are not listed go to GPT models, and others ignore them. */
export interface ChatRequest {
  /**
   * Composite ID, `<base_model>:<level>`.
   * @example "claude-sonnet-4-5:il5"
   */
  readonly model: string
  /**
   * The conversation so far, oldest message first.
   * Limits: items, at most 2048.
   * @example [{"role":"user","content":"What is FedRAMP High?"}]
   */
  readonly messages: ReadonlyArray<ChatMessage>
  /**
   * Sampling temperature: more makes replies more varied. Removed while Claude and the GPT-5 models think.
   * Limits: at least 0, at most 2.
   * @example 0.2
   */
  readonly temperature?: number | null
  /**
   * Nucleus sampling: only the likeliest tokens with this probability in all. Removed while Claude and the GPT-5 models think.
   * Limits: at least 0, at most 1.
   * @example 0.9
   */
  readonly top_p?: number | null
  /**
   * The older name of `max_completion_tokens`, which wins where both are given.
   * @example 500
   */
  readonly max_tokens?: number | null
  /**
   * The most tokens that the reply may have, thinking included.
   * @example 500
   */
  readonly max_completion_tokens?: number | null
  /**
   * Whether the reply comes as server-sent events.
   * @default false
   * @example true
   */
  readonly stream?: boolean | null
  /**
   * Options of a stream.
   * @example {"include_usage":true}
   */
  readonly stream_options?: {
    /**
     * Whether the final chunk has `usage`.
     * @default false
     * @example true
     */
    readonly include_usage?: boolean | null
    readonly [name: string]: unknown
  } | null
  /**
   * Texts that end the reply before they appear in it.
   * @example ["END"]
   */
  readonly stop?: string | ReadonlyArray<string> | null
  /**
   * Functions that the model may ask the caller to call, at most 128.
   * Limits: items, at most 128.
   * @example [{"type":"function","function":{"name":"get_weather","description":"The weather in a city"}}]
   */
  readonly tools?: ReadonlyArray<Tool> | null
  /**
   * Whether and which tool is called; becomes `auto` while Claude thinks, and on Gemini.
   * @default "auto"
   * @example "required"
   */
  readonly tool_choice?: "auto" | "none" | "required" | {
    readonly type: "function"
    /** The function to call. */
    readonly function: {
      /**
       * The function's name.
       * @example "get_weather"
       */
      readonly name: string
      readonly [name: string]: unknown
    }
    readonly [name: string]: unknown
  } | {
    /**
     * The word.
     * @example "auto"
     */
    readonly type: "auto" | "none" | "required"
    readonly [name: string]: unknown
  } | null
  /**
   * How much the model thinks before it answers; absent, the catalog's default for the model. A value that the model does not have becomes the nearest one; models that do not reason ignore it.
   * @example "low"
   */
  readonly reasoning_effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | null
  /**
   * What the reply is: any text, JSON, or JSON that follows a schema; for every vendor. Absent, any text.
   * @example {"type":"json_object"}
   */
  readonly response_format?: ResponseFormat | null
  /**
   * Whether one reply may call several tools.
   * @default true
   * @example false
   */
  readonly parallel_tool_calls?: boolean | null
  /**
   * The same seed and request mostly give the same reply; GPT models and Gemini.
   * @example 7
   */
  readonly seed?: number | null
  /**
   * How much less likely a token becomes each time it is used; GPT models and Gemini.
   * Limits: at least -2, at most 2.
   * @example 0.5
   */
  readonly frequency_penalty?: number | null
  /**
   * How much less likely a token becomes once it has been used; GPT models and Gemini.
   * Limits: at least -2, at most 2.
   * @example 0.5
   */
  readonly presence_penalty?: number | null
  /**
   * Token IDs that become likelier (up to 100) or less likely (down to -100); GPT models.
   * @example {"50256":-100}
   */
  readonly logit_bias?: {
    readonly [name: string]: number
  } | null
  /**
   * Whether the reply has the log probabilities of its tokens; GPT models that do not think.
   * @default false
   * @example true
   */
  readonly logprobs?: boolean | null
  /**
   * How many alternatives of each token `logprobs` lists.
   * Limits: at least 0, at most 20.
   * @example 3
   */
  readonly top_logprobs?: number | null
  /**
   * Your own identifier of the end user; do not put a secret here.
   * @example "u-1"
   */
  readonly user?: string | null
  /**
   * Nothing is stored: true is refused.
   * @default false
   * @example false
   */
  readonly store?: false | null
  /**
   * There is one choice.
   * @default 1
   * @example 1
   */
  readonly n?: 1 | null
  readonly [name: string]: unknown
}

/** What the reply is: any text, JSON, or JSON that follows a schema. */
export type ResponseFormat = {
  readonly type: "text"
  readonly [name: string]: unknown
} | {
  readonly type: "json_object"
  readonly [name: string]: unknown
} | ResponseFormatJsonSchema

/** JSON that follows a schema. */
export interface ResponseFormatJsonSchema {
  readonly type: "json_schema"
  /** The schema, and how strictly it is followed. */
  readonly json_schema: {
    /**
     * The schema's name.
     * @example "weather"
     */
    readonly name?: string | null
    /**
     * What the schema is for.
     * @example "The weather"
     */
    readonly description?: string | null
    /**
     * A JSON Schema of type object.
     * @example {"type":"object","properties":{"city":{"type":"string"}}}
     */
    readonly schema: {
      readonly [name: string]: unknown
    }
    /**
     * Whether the reply must follow the schema exactly.
     * @default false
     * @example true
     */
    readonly strict?: boolean | null
    readonly [name: string]: unknown
  }
  readonly [name: string]: unknown
}

/** A function that the model may call. Parameter names that describe an outbound destination are refused. */
export interface Tool {
  readonly type: "function"
  /** The function itself. */
  readonly function: {
    /**
     * The function's name.
     * @example "get_weather"
     */
    readonly name: string
    /**
     * What the function does, for the model.
     * Limits: characters, at most 65536.
     * @example "The weather in a city"
     */
    readonly description?: string | null
    /**
     * The parameters as a JSON Schema of type object.
     * @example {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}
     */
    readonly parameters?: {
      readonly [name: string]: unknown
    } | null
    /**
     * Whether the arguments must follow the schema exactly.
     * @default false
     * @example true
     */
    readonly strict?: boolean | null
    readonly [name: string]: unknown
  }
  readonly [name: string]: unknown
}

/** Text is at most 2 MiB of UTF-8. Only users may send parts. */
export type ChatMessage = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage

/** What a tool answered. */
export interface ToolMessage {
  readonly role: "tool"
  /**
   * What the tool answered.
   * @example "21 °C"
   */
  readonly content: string
  /**
   * The `id` of the call that this answers.
   * Limits: characters, at most 256.
   * @example "call_1"
   */
  readonly tool_call_id: string
  readonly [name: string]: unknown
}

/** What the model answered: the message of a reply. */
export interface AssistantMessage {
  readonly role: "assistant"
  /**
   * What the model said; null beside `tool_calls`.
   * @example "FedRAMP High is the strictest baseline."
   */
  readonly content?: string | null
  /**
   * The calls that the model asked for, each of which a tool message answers.
   * Limits: items, at most 128.
   */
  readonly tool_calls?: ReadonlyArray<ToolCall> | null
  /**
   * What a vendor needs back in the next request: return the message unchanged.
   * @example {"google":{"thought_signature":"EqQBCgIYAhIM"}}
   */
  readonly extra_content?: unknown
  readonly [name: string]: unknown
}

/** What the user says. */
export interface UserMessage {
  readonly role: "user"
  /**
   * What the user says, as text or as parts.
   * @example "What is FedRAMP High?"
   */
  readonly content: string | ReadonlyArray<TextPart | ImagePart | FilePart>
  readonly [name: string]: unknown
}

/** A PDF as a data URI, at most 3.5 MB decoded. Other URLs are refused. */
export interface FilePart {
  readonly type: "file"
  /** The file itself. */
  readonly file: {
    /**
     * The file's name. Folders and control characters are removed from it.
     * @example "report.pdf"
     */
    readonly filename?: string | null
    /**
     * A data URI of type application/pdf.
     * @example "data:application/pdf;base64,JVBERi0xLjcK"
     */
    readonly file_data: string
    readonly [name: string]: unknown
  }
  readonly [name: string]: unknown
}

/** An image as a data URI: JPEG, PNG, GIF or WebP, at most 3.5 MB decoded. Other URLs are refused. */
export interface ImagePart {
  readonly type: "image_url"
  /** The image itself. */
  readonly image_url: {
    /**
     * A data URI, `data:<mime>;base64,<bytes>`, of type image/jpeg, image/png, image/gif or image/webp.
     * @example "data:image/png;base64,iVBORw0KGgo="
     */
    readonly url: string
    readonly [name: string]: unknown
  }
  readonly [name: string]: unknown
}

/** A text. */
export interface TextPart {
  readonly type: "text"
  /**
   * The text.
   * @example "What is in this picture?"
   */
  readonly text: string
  readonly [name: string]: unknown
}

/** The same as a system message. */
export interface DeveloperMessage {
  readonly role: "developer"
  /**
   * Instructions for the model.
   * @example "Answer in one sentence."
   */
  readonly content: string
  readonly [name: string]: unknown
}

/** Instructions for the model. */
export interface SystemMessage {
  readonly role: "system"
  /**
   * Instructions for the model.
   * @example "Answer in one sentence."
   */
  readonly content: string
  readonly [name: string]: unknown
}

/** The data of one event. */
export type MessageEvent = {
  readonly type: "message_start"
  readonly message: Message
  readonly [name: string]: unknown
} | {
  readonly type: "content_block_start"
  /**
   * Which block of `content`, from 0.
   * @example 0
   */
  readonly index: number
  readonly content_block: ContentBlock
  readonly [name: string]: unknown
} | {
  readonly type: "content_block_delta"
  /**
   * Which block of `content`, from 0.
   * @example 0
   */
  readonly index: number
  readonly delta: ContentBlockDelta
  readonly [name: string]: unknown
} | {
  readonly type: "content_block_stop"
  /**
   * Which block of `content`, from 0.
   * @example 0
   */
  readonly index: number
  readonly [name: string]: unknown
} | {
  readonly type: "message_delta"
  /** What is now known of the message. */
  readonly delta: {
    /** Why the reply ended. */
    readonly stop_reason?: "end_turn" | "max_tokens" | "stop_sequence" | "tool_use" | "pause_turn" | "refusal" | "model_context_window_exceeded" | (string & {}) | null
    /** The stop sequence that ended it. */
    readonly stop_sequence?: string | null
    readonly [name: string]: unknown
  }
  readonly usage: MessageUsage
  readonly [name: string]: unknown
} | {
  readonly type: "message_stop"
  readonly [name: string]: unknown
} | {
  readonly type: "gateway_governance"
  readonly x_gateway_governance: Governance
  readonly [name: string]: unknown
} | {
  readonly type: "gateway_guards"
  /** What the guards did. */
  readonly x_gateway_guards: ReadonlyArray<GuardAction>
  readonly [name: string]: unknown
} | {
  readonly type: "ping"
  readonly [name: string]: unknown
} | {
  readonly type: "error"
  /** What went wrong. */
  readonly error: {
    /**
     * For programs: the kind of error.
     * @example "api_error"
     */
    readonly type: string
    /**
     * For people: what went wrong.
     * @example "the cloud ended its reply early"
     */
    readonly message: string
    readonly [name: string]: unknown
  }
  readonly [name: string]: unknown
}

/** The data of one event. */
export type ResponseEvent = {
  readonly type: "response.created"
  readonly response: ResponseObject
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.in_progress"
  readonly response: ResponseObject
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.queued"
  readonly response: ResponseObject
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.completed"
  readonly response: ResponseObject
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.incomplete"
  readonly response: ResponseObject
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.failed"
  readonly response: ResponseObject
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.output_item.added"
  readonly item: OutputItem
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.output_item.done"
  readonly item: OutputItem
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.content_part.added"
  readonly part: StreamedContent
  /**
   * Which part of the item's `content`, from 0.
   * @example 0
   */
  readonly content_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.content_part.done"
  readonly part: StreamedContent
  /**
   * Which part of the item's `content`, from 0.
   * @example 0
   */
  readonly content_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.output_text.delta"
  /**
   * The next piece.
   * @example "FedRAMP"
   */
  readonly delta: string
  /**
   * Which part of the item's `content`, from 0.
   * @example 0
   */
  readonly content_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.output_text.done"
  /**
   * The whole text.
   * @example "FedRAMP High is the strictest baseline."
   */
  readonly text: string
  /**
   * Which part of the item's `content`, from 0.
   * @example 0
   */
  readonly content_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.output_text.annotation.added"
  /** The source. */
  readonly annotation: unknown
  /**
   * Which annotation of the text, from 0.
   * @example 0
   */
  readonly annotation_index: number
  /**
   * Which part of the item's `content`, from 0.
   * @example 0
   */
  readonly content_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.refusal.delta"
  /**
   * The next piece.
   * @example "FedRAMP"
   */
  readonly delta: string
  /**
   * Which part of the item's `content`, from 0.
   * @example 0
   */
  readonly content_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.refusal.done"
  /**
   * The whole refusal.
   * @example "I cannot help with that."
   */
  readonly refusal: string
  /**
   * Which part of the item's `content`, from 0.
   * @example 0
   */
  readonly content_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.function_call_arguments.delta"
  /**
   * The next piece.
   * @example "FedRAMP"
   */
  readonly delta: string
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.function_call_arguments.done"
  /**
   * The arguments as JSON text.
   * @example "{\"city\":\"Denver\"}"
   */
  readonly arguments: string
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.custom_tool_call_input.delta"
  /**
   * The next piece.
   * @example "FedRAMP"
   */
  readonly delta: string
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.custom_tool_call_input.done"
  /**
   * The whole input.
   * @example "select 1"
   */
  readonly input: string
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.reasoning_summary_part.added"
  /** The part of the summary. */
  readonly part: unknown
  /**
   * Which part of the item's `summary`, from 0.
   * @example 0
   */
  readonly summary_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.reasoning_summary_part.done"
  /** The part of the summary. */
  readonly part: unknown
  /**
   * Which part of the item's `summary`, from 0.
   * @example 0
   */
  readonly summary_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.reasoning_summary_text.delta"
  /**
   * The next piece.
   * @example "FedRAMP"
   */
  readonly delta: string
  /**
   * Which part of the item's `summary`, from 0.
   * @example 0
   */
  readonly summary_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.reasoning_summary_text.done"
  /**
   * The whole text.
   * @example "FedRAMP High is the strictest baseline."
   */
  readonly text: string
  /**
   * Which part of the item's `summary`, from 0.
   * @example 0
   */
  readonly summary_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.reasoning_text.delta"
  /**
   * The next piece.
   * @example "FedRAMP"
   */
  readonly delta: string
  /**
   * Which part of the item's `content`, from 0.
   * @example 0
   */
  readonly content_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.reasoning_text.done"
  /**
   * The whole text.
   * @example "FedRAMP High is the strictest baseline."
   */
  readonly text: string
  /**
   * Which part of the item's `content`, from 0.
   * @example 0
   */
  readonly content_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.shell_call_command.added"
  /**
   * The command, as far as it is known.
   * @example "ls"
   */
  readonly command: string
  /**
   * Which command of the call, from 0.
   * @example 0
   */
  readonly command_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.shell_call_command.delta"
  /**
   * The next piece.
   * @example "FedRAMP"
   */
  readonly delta: string
  /**
   * Which command of the call, from 0.
   * @example 0
   */
  readonly command_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "response.shell_call_command.done"
  /**
   * The command, as far as it is known.
   * @example "ls"
   */
  readonly command: string
  /**
   * Which command of the call, from 0.
   * @example 0
   */
  readonly command_index: number
  /**
   * Which item of `output`, from 0.
   * @example 0
   */
  readonly output_index: number
  /** The item's ID. */
  readonly item_id?: string | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
} | {
  readonly type: "error"
  /** For programs: the kind of error. */
  readonly code?: string | null
  /**
   * For people: what went wrong.
   * @example "the cloud ended its reply early"
   */
  readonly message: string
  /** The parameter that is to blame, where there is one. */
  readonly param?: string | null
  /** The same again, where OpenAI's SDK for Python looks for it. */
  readonly error?: {
    /**
     * For programs: the kind of error.
     * @example "api_error"
     */
    readonly type: string
    /**
     * For people: what went wrong.
     * @example "the cloud ended its reply early"
     */
    readonly message: string
    readonly [name: string]: unknown
  } | null
  /** The event's place in the stream, from 0. */
  readonly sequence_number?: number | null
  readonly [name: string]: unknown
}
