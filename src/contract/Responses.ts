/** A responses request as the gateway decodes it: what it acts on is checked, the rest is as it came (docs/api.md#responses). */
import { Schema } from "effect"
import { ModelField, notAnObject, nullable, rest } from "./fields.ts"

const Typed = Schema.StructWithRest(Schema.Struct({ type: nullable(Schema.String) }), rest)
/** A tool or an item of the input; both may bring tools along. */
const Item = Schema.StructWithRest(
  Schema.Struct({ type: nullable(Schema.String), tools: nullable(Schema.Array(Typed)) }),
  rest
)

/** Only what the gateway acts on; the upstream validates the rest. */
export const ResponsesRequest = Schema.StructWithRest(
  Schema.Struct({
    model: ModelField,
    input: Schema.Union([Schema.String, Schema.Array(Item)]).annotate({
      message: "must be a string or an array of items of type message, function_call or function_call_output"
    }),
    tools: nullable(Schema.Array(Item)),
    include: nullable(Schema.Array(Schema.String)),
    reasoning: nullable(Schema.StructWithRest(Schema.Struct({ effort: nullable(Schema.String) }), rest)),
    stream: nullable(Schema.Boolean)
  }),
  rest
).annotate({ message: notAnObject })
export type ResponsesRequest = typeof ResponsesRequest.Type
