/** Tools of the responses format: those that the caller executes (docs/api.md#responses). */
import { Schema } from "effect"
import { described, either, jsonObject, nullable, object } from "./fields.ts"
import { kind, kinds, onlyKinds } from "./kinds.ts"

const name = described(Schema.String, "The tool's name.", "get_weather")
const description = nullable(Schema.String, "What it does, for the model.", "The weather in a city")

const functionTool = kind(
  "function",
  {
    name,
    description,
    parameters: nullable(jsonObject(), "The parameters as a JSON Schema of type object.", {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"]
    }),
    strict: nullable(Schema.Boolean, "Whether the arguments must follow the schema exactly.", true)
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
      kinds([
        kind("text", {}),
        kind("grammar", {
          syntax: described(Schema.Literals(["lark", "regex"]), "The grammar's language.", "regex"),
          definition: described(Schema.String, "The grammar.", "[0-9]+")
        })
      ]),
      "What its input may be.",
      { type: "text" }
    )
  },
  "CustomTool",
  "A tool that takes any text."
)

/** The chat format's, of which the screen reads the parameters before the shape is refused. */
const nestedTool = kind("function", { function: jsonObject() })

export const ResponsesTool = onlyKinds(
  [
    functionTool,
    customTool,
    kind(
      "namespace",
      {
        name,
        description,
        tools: described(Schema.Array(onlyKinds([functionTool, customTool])), "The tools of this name.")
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
  ],
  [nestedTool, kind("shell", {})]
)

const named = onlyKinds([
  kind("function", { name }),
  kind("custom", { name }),
  kind("local_shell", {}),
  kind("apply_patch", {}),
  kind("shell", {})
])
export const ResponsesToolChoice = either(
  Schema.Literals(["auto", "none", "required"]),
  named,
  kind("allowed_tools", {
    mode: described(Schema.Literals(["auto", "required"]), "Whether one of them must be used.", "auto"),
    tools: described(Schema.Array(named), "Those that may be used.", [{ type: "function", name: "get_weather" }])
  })
)
