/** A responses request: what the document shows is what judges it. Fields that are not listed pass (docs/api.md#responses). */
import { Schema } from "effect"
import { efforts } from "../catalog/names.ts"
import {
  type AsJson,
  described,
  either,
  flag,
  Integer,
  jsonObject,
  jsonSchema,
  ModelField,
  named,
  nullable,
  object,
  options,
  PositiveInt,
  parameters,
  record,
  refused,
  string
} from "./fields.ts"
import { kind, kinds, oneOf, onlyKinds } from "./kinds.ts"
import { InputItem } from "./ResponsesInput.ts"

const name = string("The tool's name.", "get_weather")
const description = nullable(Schema.String, "What it does, for the model.", "The weather in a city")

const functionTool = kind("function", {
  name,
  description,
  parameters,
  strict: nullable(Schema.Boolean, "Whether the arguments must follow the schema exactly.", true)
}).annotate(named("FunctionTool", "A function. Parameter names that describe an outbound destination are refused."))
const customTool = kind("custom", {
  name,
  description,
  format: nullable(
    kinds([
      kind("text", {}),
      kind("grammar", {
        syntax: described(oneOf("lark", "regex"), "The grammar's language.", "regex"),
        definition: string("The grammar.", "[0-9]+")
      })
    ]),
    "What its input may be.",
    { type: "text" }
  )
}).annotate(named("CustomTool", "A tool that takes any text."))

/** The chat format's, of which the screen reads the parameters before the shape is refused. */
const nestedTool = kind("function", { function: jsonObject() })

const ResponsesTool = onlyKinds(
  [
    functionTool,
    customTool,
    kind("namespace", {
      name,
      description,
      tools: described(Schema.Array(onlyKinds([functionTool, customTool])), "The tools of this name.")
    }).annotate(named("NamespaceTool", "Tools under one name.")),
    kind("local_shell", {}).annotate(named("LocalShellTool", "A shell of the caller's.")),
    kind("apply_patch", {}).annotate(named("ApplyPatchTool", "Patches that the caller applies.")),
    kind("shell", {
      environment: described(object({ type: Schema.Literal("local") }), "Where it runs.", { type: "local" })
    }).annotate(named("ShellTool", "A shell of the caller's; other environments are refused.")),
    kind("tool_search", {
      execution: described(Schema.Literal("client"), "Who searches.", "client"),
      description,
      parameters
    }).annotate(named("ToolSearchTool", "A search among tools that the caller executes; the cloud's own is refused."))
  ],
  [nestedTool, kind("shell", {}), kind("tool_search", {})]
)

const chosen = [
  kind("function", { name }),
  kind("custom", { name }),
  kind("local_shell", {}),
  kind("apply_patch", {}),
  kind("shell", {})
] as const
const ResponsesToolChoice = either(
  Schema.Literals(["auto", "none", "required"]),
  onlyKinds([
    ...chosen,
    kind("allowed_tools", {
      mode: described(oneOf("auto", "required"), "Whether one of them must be used.", "auto"),
      tools: described(Schema.Array(onlyKinds(chosen)), "Those that may be used.", [
        { type: "function", name: "get_weather" }
      ])
    })
  ])
)

const stored = "not available, because nothing is stored"
const never = (description: string, message: string) =>
  nullable(Schema.Literal(false), description, false, { message, default: false })

const TextFormat = kinds([
  kind("text", {}).annotate({ description: "Any text." }),
  kind("json_object", {}).annotate({ description: "A JSON object; the input must ask for JSON." }),
  kind("json_schema", {
    name: string("The schema's name.", "weather"),
    schema: jsonSchema(),
    description: nullable(Schema.String, "What the schema is for.", "The weather"),
    strict: flag("Whether the reply must follow the schema exactly.")
  }).annotate({ description: "JSON that follows a schema." })
])

/** What the gateway acts on or refuses; the cloud validates all the rest. */
export const ResponsesRequest = object({
  model: ModelField,
  input: either(Schema.String, Schema.Array(InputItem)).annotate({
    description: "What the user says, as text, or the whole conversation as items.",
    examples: ["What is FedRAMP High?"]
  }),
  instructions: nullable(Schema.String, "Instructions for the model.", "Answer in one sentence."),
  tools: nullable(
    Schema.Array(ResponsesTool),
    "Tools that the model may ask the caller to use; those that run inside the cloud are refused.",
    [{ type: "function", name: "get_weather", description: "The weather in a city" }]
  ),
  tool_choice: nullable(ResponsesToolChoice, "Whether and which tool is used.", "required", { default: "auto" }),
  parallel_tool_calls: flag("Whether one reply may call several tools.", true),
  max_output_tokens: nullable(PositiveInt, "The most tokens that the reply may have, reasoning included.", 1000),
  max_tool_calls: nullable(PositiveInt, "The most calls of built-in tools.", 4),
  reasoning: nullable(
    options({
      effort: nullable(
        oneOf(...efforts),
        "How much the model thinks before it answers; absent, the catalog's default for the model.",
        "low"
      ),
      summary: nullable(
        oneOf("auto", "concise", "detailed"),
        "Whether the reply has a summary of what the model thought.",
        "auto"
      )
    }),
    "How the model thinks.",
    { effort: "low" }
  ),
  text: nullable(
    options({
      format: nullable(
        TextFormat,
        "What the reply is: any text, JSON, or JSON that follows a schema. Absent, any text.",
        { type: "json_object" }
      ),
      verbosity: nullable(oneOf("low", "medium", "high"), "How long the reply tends to be.", "low", {
        default: "medium"
      })
    }),
    "The format and length of the text.",
    { verbosity: "low" }
  ),
  temperature: nullable(
    Schema.Finite,
    "Sampling temperature, from 0 to 2: more makes replies more varied. Models that think refuse it.",
    0.2
  ),
  top_p: nullable(
    Schema.Finite,
    "Nucleus sampling: only the likeliest tokens with this probability in all. Models that think refuse it.",
    0.9
  ),
  top_logprobs: nullable(Integer, "How many alternatives of each token to report, up to 20.", 3),
  truncation: nullable(
    oneOf("auto", "disabled"),
    "Whether the oldest items are left out where the input is too long.",
    "auto",
    { default: "disabled" }
  ),
  metadata: nullable(record(Schema.String), "Notes of the caller's, which the reply repeats; nothing is stored.", {
    case: "4711"
  }),
  include: nullable(
    Schema.Array(Schema.String),
    "What else the reply has; `reasoning.encrypted_content` is taken out.",
    ["message.output_text.logprobs"]
  ),
  user: nullable(Schema.String, "Your own identifier of the end user; do not put a secret here.", "u-1"),
  prompt_cache_key: nullable(
    Schema.String,
    "Requests with the same key are likely to find each other's prompt in the cloud's cache.",
    "handbook-v2"
  ),
  stream: flag("Whether the reply comes as server-sent events."),
  store: never("Nothing is stored: true is refused.", "must be false or omitted; nothing is stored"),
  previous_response_id: refused(`${stored}; send the full input each turn`),
  background: never("True is refused, because nothing is stored.", `must be false or omitted; ${stored}`),
  conversation: refused(`${stored}; send the full input each turn`),
  prompt: refused(`${stored}; send the text itself`)
}).annotate(
  named(
    "ResponsesRequest",
    "A conversation. Fields that are not listed pass to the cloud.",
    { model: "gpt-5.1:il5", input: "What is FedRAMP High?" },
    { model: "gpt-5.1:il5", input: "What is FedRAMP High?", stream: true }
  )
)
export type ResponsesRequest = AsJson<typeof ResponsesRequest.Type>
