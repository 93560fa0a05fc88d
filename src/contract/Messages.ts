/**
 * A messages request: what the document shows is what judges it. Fields that are not listed pass, and so do numbers for sampling of
 * any size: the model judges them, unless they are removed before (docs/api.md#messages).
 */
import { Schema, SchemaTransformation } from "effect"
import { textOf } from "../wire/json.ts"
import {
  type AsJson,
  described,
  either,
  flag,
  Integer,
  int,
  jsonObject,
  jsonSchema,
  ModelField,
  named,
  nullable,
  object,
  options,
  ParsedJson,
  PositiveInt,
  question,
  string
} from "./fields.ts"
import { kind, kinds, oneOf, onlyKinds } from "./kinds.ts"
import { cached, MessageParam, systemBlock } from "./MessagesContent.ts"

const customTool = object({
  type: nullable(Schema.Literal("custom"), "May be left out.", "custom", {
    default: "custom",
    message: "must be custom or left out, or the vendor's name of a tool, such as bash_20250124"
  }),
  name: string("The tool's name.", "get_weather"),
  description: nullable(Schema.String, "What it does, for the model.", "The weather in a city"),
  input_schema: jsonObject({
    description: "Its input as a JSON Schema of type object.",
    examples: [{ type: "object", properties: { city: { type: "string" } }, required: ["city"] }]
  }),
  strict: flag("Whether the input must follow the schema exactly."),
  ...cached
}).annotate(named("MessagesTool", "A tool that the caller executes."))

/** Characters of betas, at most; each takes time, because it is looked up and, where it is unknown, named. */
const maxBetas = 16_384
const fewBetas = Schema.makeFilter<Schema.Json>((given) => [given].flat().map(textOf).join(",").length <= maxBetas, {
  message: `at most ${maxBetas.toLocaleString("en-US")} characters`,
  toJsonSchema: () => ({})
})

const vendorTypes = [
  "bash_",
  "browser_",
  "text_editor_",
  "computer_",
  "memory_",
  "str_replace_",
  "tool_search_tool_"
] as const
const VendorType = described(
  Schema.TemplateLiteral([Schema.Literals(vendorTypes), Schema.String]),
  "The vendor's name of the tool, with the date of its version.",
  "bash_20250124"
)

/** The vendor's own definitions; their type carries the date of their version. */
const vendorTool = object({
  // A template tries each place where its first part may end, which takes seconds for a long text.
  type: Schema.declare(
    (value): value is typeof VendorType.Type =>
      typeof value === "string" && vendorTypes.some((start) => value.startsWith(start)),
    { toCodecJson: () => Schema.link<typeof VendorType.Type>()(VendorType, SchemaTransformation.passthrough()) }
  ),
  name: nullable(Schema.String, "The tool's name, as the vendor has it; a toolset has none.", "bash"),
  ...cached
}).annotate(
  named(
    "MessagesVendorTool",
    "A tool whose definition is the vendor's, and which the caller executes. Those that run inside the cloud are refused."
  )
)

const alone = { disable_parallel_tool_use: flag("Whether a reply may call one tool only.") }
const MessagesToolChoice = kinds([
  kind("auto", alone).annotate({ description: "The model decides." }),
  kind("any", alone).annotate({ description: "Some tool is called; becomes `auto` beside thinking." }),
  kind("tool", { name: string("The tool to call.", "get_weather"), ...alone }).annotate({
    description: "This tool is called; becomes `auto` beside thinking."
  }),
  kind("none", {}).annotate({ description: "No tool is called." })
])

const Thinking = kinds([
  kind("enabled", {
    budget_tokens: int("Tokens to think with: adjusted to fit below `max_tokens`, and at least 1,024.", 2048)
  }).annotate({ description: "For models with a budget." }),
  kind("adaptive", {}).annotate({
    description: "For models that decide themselves, with `output_config.effort`; a budget on others."
  }),
  kind("disabled", {}).annotate({ description: "No thinking." })
])

const OutputConfig = options({
  effort: nullable(
    oneOf("low", "medium", "high", "xhigh", "max"),
    "How much the model does for a reply; for models that think adaptively.",
    "high"
  ),
  format: nullable(
    kinds([kind("json_schema", { schema: jsonSchema() })]),
    "JSON of a schema, where the deployment has it."
  )
})

/** Those that count as input. */
const inputFields = {
  model: ModelField,
  messages: described(
    Schema.Array(MessageParam).check(Schema.isMinLength(1, { message: "at least one message" })),
    "The conversation so far, oldest message first.",
    question
  ),
  system: nullable(
    either(Schema.String, Schema.Array(systemBlock)),
    "Instructions for the model.",
    "Answer in one sentence."
  ),
  tools: nullable(
    Schema.Array(onlyKinds([customTool, vendorTool])),
    "Tools that the model may ask the caller to use; those that run inside the cloud are refused.",
    [{ name: "get_weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }]
  ),
  tool_choice: nullable(MessagesToolChoice, "Whether and which tool is used; absent, the model decides.", {
    type: "any"
  }),
  thinking: nullable(
    Thinking,
    "Extended thinking; what the model would refuse is adjusted, and `x-gateway-thinking-adjusted` says how.",
    { type: "enabled", budget_tokens: 2048 }
  ),
  anthropic_beta: nullable(
    ParsedJson.check(fewBetas),
    "Betas to use, a list or a text with commas, as in the header `anthropic-beta`; those that the deployment does not have are removed.",
    ["interleaved-thinking-2025-05-14"]
  ),
  anthropic_version: nullable(
    Schema.String,
    "The version of the vendor's API to send, instead of the gateway's own choice.",
    "vertex-2023-10-16"
  ),
  vendor_version: nullable(Schema.String, "Another name of `anthropic_version`, which wins.", "vertex-2023-10-16")
}

export const MessagesRequest = object({
  ...inputFields,
  max_tokens: described(PositiveInt, "The most tokens that the reply may have, thinking included.", 1024),
  stream: flag("Whether the reply comes as server-sent events."),
  stop_sequences: nullable(Schema.Array(Schema.String), "Texts that end the reply before they appear in it.", ["END"]),
  temperature: nullable(
    Schema.Finite,
    "Sampling temperature, from 0 to 1: more makes replies more varied. Removed beside thinking.",
    0.2
  ),
  top_p: nullable(
    Schema.Finite,
    "Nucleus sampling: only the likeliest tokens with this probability in all. Removed beside thinking.",
    0.9
  ),
  top_k: nullable(Integer, "How many of the likeliest tokens to choose from. Removed beside thinking.", 40),
  metadata: nullable(
    options({
      user_id: nullable(Schema.String, "Your own identifier of the end user; do not put a secret here.", "u-1")
    }),
    "About the request, for the vendor.",
    { user_id: "u-1" }
  ),
  output_config: nullable(OutputConfig, "How the reply is made: its effort, its format.", { effort: "high" })
}).annotate(
  named(
    "MessagesRequest",
    "A conversation. Fields that are not listed pass to the model's own API.",
    { model: "claude-sonnet-4-5:il5", max_tokens: 300, messages: question },
    {
      model: "claude-sonnet-4-5:il2",
      max_tokens: 4096,
      thinking: { type: "enabled", budget_tokens: 1024 },
      stream: true,
      messages: question
    }
  )
)
export type MessagesRequest = AsJson<typeof MessagesRequest.Type>

export const CountRequest = object(inputFields).annotate(
  named("CountTokensRequest", "A conversation whose tokens are counted.", {
    model: "claude-sonnet-4-5:il5",
    messages: question
  })
)
export type CountRequest = AsJson<typeof CountRequest.Type>
