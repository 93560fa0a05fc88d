/** What chat completions and the responses API refuse of a request, on Azure and on Bedrock (docs/upstreams.md#parameters-that-are-refused). */
import { extraneousKey, namesOf, type Refusals, reading } from "./Refusals.ts"

const field = (path = "") => ({ names: namesOf(path) })

export const openaiRefusals: Refusals = {
  // Without `store: false` the cloud would keep the reply.
  essential: new Set([
    ...["model", "messages", "input", "instructions", "role", "content", "type", "text", "refusal", "image_url", "url"],
    ...["tools", "function", "name", "description", "parameters", "tool_choice", "tool_calls", "id", "tool_call_id"],
    ...["arguments", "call_id", "output", "stream", "store", "max_completion_tokens", "max_output_tokens"],
    ...["response_format", "json_schema", "format", "schema"]
  ]),
  opaque: new Set(["parameters", "schema", "arguments"]),
  read: reading([
    [/^Unsupported parameter: '([\w.[\]-]+)' is not supported with this model\.$/, field],
    [/^Unknown parameter: '([\w.[\]-]+)'\.$/, field],
    // Of several the others are refused next.
    [/^Unrecognized request arguments? supplied: ([\w.[\]-]+)(?:, [\w.[\]-]+)*$/, field],
    [/^The '(metadata)' parameter is only allowed when 'store' is enabled\.$/, field],
    [
      /^Unsupported value: '([\w.[\]-]+)' does not support \S+ with this model\. (?:Only the default|Supported values are)[^\n]*$/,
      (path = "") => ({ names: namesOf(path), of: "field" })
    ],
    // An instruction stands for the format, and a tool is no longer strict.
    [
      /^(?:Invalid schema for response_format '[\w.-]+': \S[^\n]*|Invalid parameter: 'response_format' (?:of type 'json_schema' is not supported with this model\.[^\n]*|must be one of 'json_object', 'text'\.))$/,
      () => ({ paths: [["response_format"], ["text.format"]], of: "field" })
    ],
    [
      /^Invalid schema for function '[\w-]+': In context=\([^\n]*\), \S[^\n]*$/,
      () => ({ paths: [["tools[function].function.strict"], ["tools[function].strict"]], of: ["tools"] })
    ],
    extraneousKey
  ])
}
