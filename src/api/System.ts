/** `GET /v1/models` and `GET /health`. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ListErrors } from "./Errors.ts"
import { Facts } from "./facts.ts"
import { ApiKey } from "./Security.ts"

export const ModelObject = Schema.Struct({
  id: Schema.String.annotate({ description: "The composite ID to use in requests." }),
  object: Schema.Literal("model"),
  created: Schema.Int,
  owned_by: Schema.String
}).annotate({ identifier: "Model" })

export const ModelList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(ModelObject)
}).annotate({ identifier: "ModelList" })

const health = { service: Schema.String, version: Schema.String }
export const Health = Schema.Struct({ status: Schema.Literal("ok"), ...health }).annotate({ identifier: "Health" })
/** While the server shuts down: send new requests elsewhere. */
export const Draining = Schema.Struct({ status: Schema.Literal("draining"), ...health })
  .annotate({ identifier: "Draining" })
  .pipe(HttpApiSchema.status(503))

export class ModelsGroup extends HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.get("list", "/v1/models", { success: ModelList, error: ListErrors })
      .annotate(Facts, { surface: "models", purpose: undefined, streamed: false, screened: undefined })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listModels",
          summary: "List model IDs",
          description: "Every composite ID that can be requested, of the clouds that are active."
        })
      )
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Models", description: "The model IDs that can be requested." })) {}

export class HealthGroup extends HttpApiGroup.make("health", { topLevel: true })
  .add(
    HttpApiEndpoint.get("health", "/health", { success: [Health, Draining] })
      .annotate(Facts, { surface: undefined, purpose: undefined, streamed: false, screened: undefined })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getHealth",
          summary: "Health",
          description: "Whether this process takes requests. Needs no key."
        })
      )
  )
  .annotateMerge(OpenApi.annotations({ title: "Health", description: "For load balancers." })) {}
