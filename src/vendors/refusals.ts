/**
 * Which fields a vendor's refusal is about (docs/decisions.md#fields-that-a-cloud-refuses). A refusal may quote its caller, so a message is
 * read only where it is one of these sentences as a whole.
 */

/** Paths of fields that go together (`wire/strip.ts`); a body may have only some of them. */
export type Paths = ReadonlyArray<string>

/** What is to be left out. */
interface RefusedPart {
  /** One field, by the names that lead to it: outermost first, with indexes of arrays. */
  readonly names?: ReadonlyArray<string>
  /** Or the first of these of which the body has any. */
  readonly paths?: ReadonlyArray<Paths>
  /** Fields for whose present values the refusal holds; `"field"`: the refused field itself. Absent: for all values. */
  readonly valuesOf?: Paths | "field"
}

export interface Refusals {
  readonly read: (message: string) => RefusedPart | undefined
  /** Fields that are never left out: the caller gets their refusal. */
  readonly essential: ReadonlySet<string>
  /** Fields that hold the caller's own data: schemas, and arguments of calls. Nothing inside of them is left out. */
  readonly opaque: ReadonlySet<string>
}

type Part = RefusedPart | ((...groups: ReadonlyArray<string>) => RefusedPart)
type Sentence = readonly [words: RegExp, part: Part]

/** Reads a message by the first of the sentences that it is, as a whole; an `introduction` may stand before it. */
const reading = (introduction: string, sentences: ReadonlyArray<Sentence>): Refusals["read"] => {
  const whole = sentences.map(
    ([words, part]) => [new RegExp(`^(?:${introduction})?(?:${words.source})$`), part] as const
  )
  return (message) => {
    for (const [words, part] of whole) {
      const match = words.exec(message)
      if (match !== null) return typeof part === "function" ? part(...match.slice(1).map((group) => group ?? "")) : part
    }
    return undefined
  }
}

/** The names of a path such as `a.b[1].c`. */
const namesOf = (path: string): ReadonlyArray<string> => path.replace(/\[(\d+)\]/g, ".$1").split(".")

const field = (path = "") => ({ names: namesOf(path) })

/** Bedrock's, for all models. */
const extraneousKey: Sentence = [
  /(?:The model returned the following errors: )?(?:Malformed input request: )?#((?:\/[\w$-]+)*)\/?: extraneous key \[([\w$-]+)\] is not permitted(?:, please reformat your input and try again\.)?/,
  (pointer = "", key = "") => ({ names: [...pointer.split("/").slice(1), key] })
]

// What Anthropic's API refuses of a request (docs/upstreams.md#refused-fields, docs/upstreams.md#structured-output-of-claude).

/** The path for system messages among the others, which some models refuse. */
export const systemTurns = "messages[system].role"

/** The vendor compiles all schemas together. First tools are no longer strict; then the format becomes an instruction. */
const strict = ["tools[?].strict", "tools[custom].strict"]
const format = ["output_config.format"]
const compiled = { paths: [strict, format], valuesOf: ["tools", "output_config.format"] }

export const claudeRefusals: Refusals = {
  essential: new Set([
    ...["model", "messages", "max_tokens", "role", "content", "type", "text", "source", "media_type", "data", "title"],
    ...["id", "name", "input", "tool_use_id", "thinking", "signature", "budget_tokens", "input_schema", "schema"],
    ...["system", "tools", "tool_choice", "stream", "stop_sequences", "temperature", "top_p", "top_k", "is_error"],
    ...["anthropic_version", "anthropic_beta", "description", "cache_control", "properties"]
  ]),
  opaque: new Set(["input_schema", "input", "schema"]),
  // Bedrock introduces Anthropic's sentences.
  read: reading("The model returned the following errors: ", [
    [/([\w$-]+(?:\.[\w$-]+)*): Extra inputs are not permitted/, field],
    extraneousKey,
    [/messages\.\d+\.role: Input should be 'user' or 'assistant'/, { paths: [[systemTurns]] }],
    [
      /messages: Unexpected role "system"\. The Messages API accepts a top-level `system` parameter, not "system" as an input message role\./,
      { paths: [[systemTurns]] }
    ],
    [/role 'system' is not supported on this model/, { paths: [[systemTurns]] }],
    [
      /metadata\.user_id: user_id appears to contain an? [a-z ]+\. Please send a uuid or hash value instead\./,
      { names: ["metadata", "user_id"], valuesOf: "field" }
    ],
    [/tools\.\d+\.custom: \S.*/, { ...compiled, paths: [strict] }],
    [
      /Too many strict tools \(\d+\)\. The maximum number of strict tools supported is \d+\.?(?: Try reducing [a-z ]+\.)?/,
      { ...compiled, paths: [strict] }
    ],
    [/output_config\.format\.schema: \S.*/, { ...compiled, paths: [format] }],
    [
      /Schemas contains too many [a-z ]+ \(\d+[\w ]*\)(?:, which would make grammar compilation inefficient|\. This causes exponential compilation cost)\. Reduce [\w -]+ \(limit: \d+[a-z ]*\)\./,
      compiled
    ],
    [/The compiled grammar is too large, which would cause performance issues\..*/, compiled],
    [/Schema is too complex for compilation\..*/, compiled]
  ])
}

// What Gemini refuses of a request (docs/upstreams.md#sampling-parameters-of-gemini, docs/upstreams.md#gemini-schemas).

const config = (name: string): string => `generationConfig.${name}`

/** Google's parser writes paths in snake case, and an unknown name as it came. */
const camel = (path: string): string => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const unknown = (name: string, place: string): string =>
  `Unknown name "${name}"(?: at '${place}')?: Cannot find field\\.`

export const geminiRefusals: Refusals = {
  essential: new Set([
    ...["contents", "role", "parts", "text", "inlineData", "mimeType", "data", "functionCall", "functionResponse"],
    ...["name", "args", "response", "systemInstruction", "tools", "functionDeclarations", "parametersJsonSchema"],
    ...["description", "toolConfig", "functionCallingConfig", "mode", "generationConfig", "maxOutputTokens"],
    "responseMimeType"
  ]),
  opaque: new Set(["args", "response", "parametersJsonSchema", "responseJsonSchema"]),
  read: reading("Unable to submit request because ", [
    [
      /Penalty is not (?:enabled|supported) for (?:this model|the current model|models\/[\w.-]+)\.?/,
      { paths: [[config("presencePenalty"), config("frequencyPenalty")]] }
    ],
    [
      /Logprobs is not (?:enabled|supported) for (?:this model|the current model|models\/[\w.-]+)\.?/,
      { paths: [[config("responseLogprobs"), config("logprobs")]] }
    ],
    [
      /Thinking level \w+ is not supported for this model\. Please retry with other thinking level\./,
      { paths: [[config("thinkingConfig.thinkingLevel")]], valuesOf: "field" }
    ],
    [
      /(?:The specified schema produces a constraint that has too many states for serving\..*|A schema in GenerationConfig in the request exceeds the maximum allowed nesting depth\.?)/,
      { paths: [[config("responseJsonSchema")]], valuesOf: "field" }
    ],
    [
      /Invalid value at '([\w.[\]]+)' \([\w./]+\)(?:, [^\n]*)?/,
      (path = "") => ({ names: namesOf(camel(path)), valuesOf: "field" })
    ],
    // One line for each; what is not left out now is refused next.
    [
      new RegExp(
        `Invalid JSON payload received\\. ${unknown("(\\w+)", "([\\w.[\\]]+)")}(?:\\n(?:Invalid JSON payload received\\. )?${unknown("\\w+", "[\\w.[\\]]+")})*`
      ),
      (name = "", place = "") => ({ names: [...(place === "" ? [] : namesOf(camel(place))), name] })
    ]
  ])
}

// What chat completions and the responses API refuse of a request, on Azure and on Bedrock (docs/upstreams.md#parameters-that-are-refused).

export const openaiRefusals: Refusals = {
  // Without `store: false` the cloud would keep the reply.
  essential: new Set([
    ...["model", "messages", "input", "instructions", "role", "content", "type", "text", "refusal", "image_url", "url"],
    ...["tools", "function", "name", "description", "parameters", "tool_choice", "tool_calls", "id", "tool_call_id"],
    ...["arguments", "call_id", "output", "stream", "store", "max_completion_tokens", "max_output_tokens"],
    ...["response_format", "json_schema", "format", "schema"]
  ]),
  opaque: new Set(["parameters", "schema", "arguments"]),
  read: reading("", [
    [/Unsupported parameter: '([\w.[\]-]+)' is not supported with this model\./, field],
    [/Unknown parameter: '([\w.[\]-]+)'\./, field],
    // Of several the others are refused next.
    [/Unrecognized request arguments? supplied: ([\w.[\]-]+)(?:, [\w.[\]-]+)*/, field],
    [/The '(metadata)' parameter is only allowed when 'store' is enabled\./, field],
    [
      /Unsupported value: '([\w.[\]-]+)' does not support \S+ with this model\. (?:Only the default|Supported values are)[^\n]*/,
      (path = "") => ({ names: namesOf(path), valuesOf: "field" })
    ],
    // The format becomes an instruction, and a tool is no longer strict.
    [
      /(?:Invalid schema for response_format '[\w.-]+': \S[^\n]*|Invalid parameter: 'response_format' (?:of type 'json_schema' is not supported with this model\.[^\n]*|must be one of 'json_object', 'text'\.))/,
      { paths: [["response_format"], ["text.format"]], valuesOf: "field" }
    ],
    [
      /Invalid schema for function '[\w-]+': In context=\([^\n]*\), \S[^\n]*/,
      { paths: [["tools[function].function.strict"], ["tools[function].strict"]], valuesOf: ["tools"] }
    ],
    extraneousKey
  ])
}
