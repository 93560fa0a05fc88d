/** A messages request as the gateway decodes it: what it acts on is checked, the rest is as it came (docs/api.md#messages). */
import { Schema } from "effect"
import { ModelField, notAnObject, nullable, ParsedJson, PositiveInt, rest } from "./fields.ts"

const shared = {
  model: ModelField,
  messages: Schema.Array(ParsedJson).check(Schema.isMinLength(1, { message: "at least one message" })),
  stream: nullable(Schema.Boolean),
  /** Judged one by one, so each must be an object. */
  tools: nullable(Schema.Array(Schema.Record(Schema.String, ParsedJson)))
}

/** The gateway validates three fields, and that tools are objects; everything else passes through to the model's own API. */
export const MessagesRequest = Schema.StructWithRest(
  Schema.Struct({ ...shared, max_tokens: PositiveInt }),
  rest
).annotate({ message: notAnObject })
export type MessagesRequest = typeof MessagesRequest.Type

/** `max_tokens` is optional and ignored here. */
export const CountRequest = Schema.StructWithRest(Schema.Struct(shared), rest).annotate({ message: notAnObject })
export type CountRequest = typeof CountRequest.Type
