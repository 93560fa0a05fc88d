/** Tools, tool choice and thinking of the messages format (docs/api.md#messages). */
import { Schema } from "effect"
import { described, flag, jsonObject, jsonSchema, nullable, object } from "./fields.ts"
import { kind, kinds, onlyKinds } from "./kinds.ts"
import { cached } from "./MessagesContent.ts"

const customTool = object(
  {
    type: nullable(Schema.Literal("custom"), "May be left out.", "custom", { default: "custom" }),
    name: described(Schema.String, "The tool's name.", "get_weather"),
    description: nullable(Schema.String, "What it does, for the model.", "The weather in a city"),
    input_schema: jsonObject({
      description: "Its input as a JSON Schema of type object.",
      examples: [{ type: "object", properties: { city: { type: "string" } }, required: ["city"] }]
    }),
    strict: flag("Whether the input must follow the schema exactly."),
    ...cached
  },
  "MessagesTool",
  "A tool that the caller executes."
)

/** The vendor's own definitions; their type carries the date of their version. */
const vendorTool = object(
  {
    type: described(
      Schema.TemplateLiteral([
        Schema.Literals(["bash_", "text_editor_", "computer_", "memory_", "str_replace_", "tool_search_tool_"]),
        Schema.String
      ]),
      "The vendor's name of the tool, with the date of its version.",
      "bash_20250124"
    ),
    name: described(Schema.String, "The tool's name, as the vendor has it.", "bash"),
    ...cached
  },
  "MessagesVendorTool",
  "A tool whose definition is the vendor's, and which the caller executes. Those that run inside the cloud are refused."
)

export const MessagesTools = Schema.Array(onlyKinds([customTool, vendorTool]))

const alone = {
  disable_parallel_tool_use: flag("Whether a reply may call one tool only.")
}
export const MessagesToolChoice = kinds([
  kind("auto", alone, undefined, "The model decides."),
  kind("any", alone, undefined, "Some tool is called; becomes `auto` beside thinking."),
  kind(
    "tool",
    { name: described(Schema.String, "The tool to call.", "get_weather"), ...alone },
    undefined,
    "This tool is called; becomes `auto` beside thinking."
  ),
  kind("none", {}, undefined, "No tool is called.")
])

export const Thinking = kinds([
  kind(
    "enabled",
    {
      budget_tokens: described(
        Schema.Int,
        "Tokens to think with: adjusted to fit below `max_tokens`, and at least 1,024.",
        2048
      )
    },
    undefined,
    "For models with a budget."
  ),
  kind(
    "adaptive",
    {},
    undefined,
    "For models that decide themselves, with `output_config.effort`; a budget on others."
  ),
  kind("disabled", {}, undefined, "No thinking.")
])

export const OutputConfig = object({
  effort: nullable(
    Schema.Literals(["low", "medium", "high", "xhigh", "max"]),
    "How much the model does for a reply; for models that think adaptively.",
    "high"
  ),
  format: nullable(
    object({
      type: Schema.Literal("json_schema"),
      schema: jsonSchema()
    }),
    "JSON of a schema, where the deployment has it."
  )
})
