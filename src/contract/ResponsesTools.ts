/** Tools of the responses format: those that the caller executes (docs/api.md#responses). */
import { Schema } from "effect"
import { described, nullable, object, ParsedJson } from "./fields.ts"
import { kind } from "./kinds.ts"

const name = described(Schema.String, "The tool's name.", "get_weather")
const description = nullable(Schema.String, {
  description: "What it does, for the model.",
  example: "The weather in a city"
})

const functionTool = kind(
  "function",
  {
    name,
    description,
    parameters: nullable(Schema.Record(Schema.String, ParsedJson), {
      description: "The parameters as a JSON Schema of type object.",
      example: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    }),
    strict: nullable(Schema.Boolean, {
      description: "Whether the arguments must follow the schema exactly.",
      example: true
    })
  },
  "FunctionTool",
  "A function. Parameter names that describe an outbound destination are refused."
)
const customTool = kind(
  "custom",
  {
    name,
    description,
    format: nullable(
      Schema.Union([
        kind("text", {}),
        kind("grammar", {
          syntax: described(Schema.Literals(["lark", "regex"]), "The grammar's language.", "regex"),
          definition: described(Schema.String, "The grammar.", "[0-9]+")
        })
      ]),
      { description: "What its input may be.", example: { type: "text" } }
    )
  },
  "CustomTool",
  "A tool that takes any text."
)

export const ResponsesTool = Schema.Union([
  functionTool,
  customTool,
  kind(
    "namespace",
    {
      name,
      description,
      tools: described(Schema.Array(Schema.Union([functionTool, customTool])), "The tools of this name.")
    },
    "NamespaceTool",
    "Tools under one name."
  ),
  kind("local_shell", {}, "LocalShellTool", "A shell of the caller's."),
  kind("apply_patch", {}, "ApplyPatchTool", "Patches that the caller applies."),
  kind(
    "shell",
    { environment: described(object({ type: Schema.Literal("local") }), "Where it runs.", { type: "local" }) },
    "ShellTool",
    "A shell of the caller's; other environments are refused."
  )
])

const named = [
  kind("function", { name }),
  kind("custom", { name }),
  kind("local_shell", {}),
  kind("apply_patch", {}),
  kind("shell", {})
] as const
export const ResponsesToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  ...named,
  kind("allowed_tools", {
    mode: described(Schema.Literals(["auto", "required"]), "Whether one of them must be used.", "auto"),
    tools: described(Schema.Array(Schema.Union(named)), "Those that may be used.", [
      { type: "function", name: "get_weather" }
    ])
  })
])
