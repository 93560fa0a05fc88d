/** `POST /v1/responses` as it is documented: a thin proxy to cloud C's responses API (docs/api.md#responses). */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { ApiErrors } from "./Errors.ts"
import { operation, section } from "./facts.ts"
import { ResponsesRequest } from "./Responses.ts"
import { ResponseObject, ResponsesEvent } from "./ResponsesReply.ts"
import { ApiKey } from "./Security.ts"

const sample = `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_01","object":"response","status":"in_progress"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_01","output_index":0,"content_index":0,"delta":"FedRAMP"}

event: response.completed
data: {"type":"response.completed","sequence_number":9,"response":{"id":"resp_01","object":"response","status":"completed"}}`

export class ResponsesGroup extends HttpApiGroup.make("responses")
  .add(
    HttpApiEndpoint.post("create", "/v1/responses", {
      payload: ResponsesRequest,
      success: [ResponseObject, HttpApiSchema.StreamSse({ events: ResponsesEvent })],
      error: ApiErrors
    }).annotateMerge(
      operation(
        "responses",
        "createResponse",
        "Create a response",
        "The responses format, for GPT-class models on Azure. Nothing is stored: send the full input each turn. Fields that are not listed pass to the cloud.",
        sample
      )
    )
  )
  .middleware(ApiKey)
  .annotateMerge(section("Responses", "The OpenAI responses format, for GPT-class models on Azure.")) {}
