/** `GET /v1/models`, `GET /v1/models/{id}` and `GET /health`. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { HealthErrors, ListErrors, ModelErrors } from "./Errors.ts"
import { Facts } from "./facts.ts"
import { described } from "./fields.ts"
import { ApiKey } from "./Security.ts"
import { service, version } from "./version.ts"

export const ModelObject = Schema.Struct({
  id: described(Schema.String, "The composite ID to use in requests.", "claude-sonnet-4-5:il5"),
  object: Schema.Literal("model"),
  created: described(Schema.Int, "When the model was added, in seconds since 1970.", 1_759_104_000),
  owned_by: described(Schema.String, "Who made the model.", "anthropic")
}).annotate({
  identifier: "Model",
  description: "A model at a level.",
  examples: [{ id: "claude-sonnet-4-5:il5", object: "model", created: 1_759_104_000, owned_by: "anthropic" }]
})

export const ModelList = Schema.Struct({
  object: Schema.Literal("list"),
  data: described(Schema.Array(ModelObject), "One entry for each composite ID.")
}).annotate({
  identifier: "ModelList",
  description: "What the key may use.",
  examples: [
    {
      object: "list",
      data: [{ id: "claude-sonnet-4-5:il5", object: "model", created: 1_759_104_000, owned_by: "anthropic" }]
    }
  ]
})

const health = {
  service: described(Schema.String, "The service's name.", service),
  version: described(Schema.String, "The service's version.", version),
  boundary: Schema.optionalKey(
    Schema.Struct({
      declared: described(
        Schema.Record(Schema.String, Schema.String),
        "Addresses of the operator's own by their setting, with what may be served there.",
        { BEDROCK_BASE_URL: "fedramp-high,il5,itar" }
      ),
      loopback: described(
        Schema.Record(Schema.String, Schema.String),
        "Addresses on loopback by their setting, with the cloud and region that replies name for them.",
        { BEDROCK_BASE_URL: "bedrock/us-gov-west-1" }
      ),
      extra_certificates: described(
        Schema.Boolean,
        "Whether certificates are believed beside those that come with the program.",
        false
      )
    }).annotate({ description: "For requests with a key: what the boundary rests on beside the partition table." })
  ),
  crypto: Schema.optionalKey(
    Schema.Struct({
      openssl: described(Schema.String, "The version of OpenSSL.", "3.5.8"),
      fips: described(Schema.Boolean, "Whether it computes with a FIPS provider.", true)
    }).annotate({ description: "For requests with a key: the cryptography in use." })
  )
}
export const Health = Schema.Struct({ status: Schema.Literal("ok"), ...health }).annotate({
  identifier: "Health",
  description: "The gateway takes requests.",
  examples: [{ status: "ok", service, version }]
})
/** While the server shuts down: send new requests elsewhere. */
export const Draining = Schema.Struct({ status: Schema.Literal("draining"), ...health })
  .annotate({
    identifier: "Draining",
    description: "The gateway is shutting down.",
    examples: [{ status: "draining", service, version }]
  })
  .pipe(HttpApiSchema.status(503))

// The middleware is on each endpoint, as in MessagesGroup.ts.
export class ModelsGroup extends HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.get("list", "/v1/models", { success: ModelList, error: ListErrors })
      .middleware(ApiKey)
      .annotate(Facts, { surface: "models", streamed: false, screened: undefined })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listModels",
          summary: "List model IDs",
          description: "Every composite ID that the key may use, of the clouds that are active."
        })
      ),
    HttpApiEndpoint.get("get", "/v1/models/:id", {
      params: { id: described(Schema.String, "The composite ID.", "claude-sonnet-4-5:il5") },
      success: ModelObject,
      error: ModelErrors
    })
      .middleware(ApiKey)
      .annotate(Facts, { surface: "models", streamed: false, screened: undefined })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getModel",
          summary: "Get a model ID",
          description: "The entry of the list with this ID; 404 where the key may not use it."
        })
      )
  )
  .annotateMerge(OpenApi.annotations({ title: "Models", description: "The model IDs that can be requested." })) {}

export class HealthGroup extends HttpApiGroup.make("health", { topLevel: true })
  .add(
    HttpApiEndpoint.get("health", "/health", { success: [Health, Draining], error: HealthErrors })
      .annotate(Facts, { surface: undefined, streamed: false, screened: undefined })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getHealth",
          summary: "Health",
          description:
            "Whether this process takes requests. Needs no key; with one it also says what the boundary rests on."
        })
      )
  )
  .annotateMerge(OpenApi.annotations({ title: "Health", description: "For load balancers." })) {}
