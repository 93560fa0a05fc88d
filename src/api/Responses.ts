/** `POST /v1/responses`: a thin proxy to cloud C's responses API (docs/api.md#responses). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ApiErrors } from "./Errors.ts"
import { Facts } from "./facts.ts"
import { ModelField, notAnObject, nullable, rest } from "./fields.ts"
import { Governance } from "./Governance.ts"
import { ApiKey } from "./Security.ts"

const Item = Schema.StructWithRest(Schema.Struct({ type: nullable(Schema.String) }), rest)

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
).annotate({ identifier: "ResponsesRequest", message: notAnObject })
export type ResponsesRequest = typeof ResponsesRequest.Type

export const ResponseObject = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.String,
    object: Schema.Literal("response"),
    created_at: Schema.Finite,
    status: nullable(Schema.String),
    model: Schema.String,
    output: Schema.Array(Schema.StructWithRest(Schema.Struct({ type: Schema.String }), rest)),
    usage: nullable(
      Schema.StructWithRest(
        Schema.Struct({ input_tokens: Schema.Int, output_tokens: Schema.Int, total_tokens: Schema.Int }),
        rest
      )
    ),
    x_gateway_governance: Schema.optionalKey(Governance)
  }),
  rest
).annotate({ identifier: "Response" })
export type ResponseObject = typeof ResponseObject.Type

/** Event names are the upstream's; `response.completed`, `.incomplete` and `.failed` end the stream, and so does `error`. */
export const ResponsesEvent = Schema.Struct({
  event: Schema.String,
  data: Schema.fromJsonString(Schema.StructWithRest(Schema.Struct({ type: Schema.String }), rest))
})

export class ResponsesGroup extends HttpApiGroup.make("responses")
  .add(
    HttpApiEndpoint.post("create", "/v1/responses", {
      payload: ResponsesRequest,
      success: [ResponseObject, HttpApiSchema.StreamSse({ events: ResponsesEvent })],
      error: ApiErrors
    })
      .annotate(Facts, { surface: "responses", purpose: "responses", streamed: true, screened: "responses" })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createResponse",
          summary: "Create a response",
          description:
            "The responses format, for GPT-class models on Azure. Nothing is stored: send the full input each turn."
        })
      )
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Responses",
      description: "The OpenAI responses format, for GPT-class models on Azure."
    })
  ) {}
