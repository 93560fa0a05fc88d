/** `GET /v1/models`, `GET /v1/models/{id}` and `GET /health`. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { HealthErrors, ListErrors, ModelErrors } from "./Errors.ts"
import { operation, section } from "./facts.ts"
import { boolean, described, int, named, string } from "./fields.ts"
import { ApiKey } from "./Security.ts"
import { service, version } from "./version.ts"

const example = { id: "claude-sonnet-4-5:il5", object: "model", created: 1_759_104_000, owned_by: "anthropic" } as const

export const ModelObject = Schema.Struct({
  id: string("The composite ID to use in requests.", "claude-sonnet-4-5:il5"),
  object: Schema.Literal("model"),
  created: int("When the model was added, in seconds since 1970.", 1_759_104_000),
  owned_by: string("Who made the model.", "anthropic")
}).annotate(named("Model", "A model at a level.", example))

export const ModelList = Schema.Struct({
  object: Schema.Literal("list"),
  data: described(Schema.Array(ModelObject), "One entry for each composite ID.")
}).annotate(named("ModelList", "What the key may use.", { object: "list", data: [example] }))

const health = {
  service: string("The service's name.", service),
  version: string("The service's version.", version),
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
      extra_certificates: boolean("Whether certificates are believed beside those that come with the program.", false)
    }).annotate({ description: "For requests with a key: what the boundary rests on beside the partition table." })
  ),
  crypto: Schema.optionalKey(
    Schema.Struct({
      openssl: string("The version of OpenSSL.", "3.5.8"),
      fips: boolean("Whether it computes with a FIPS provider.", true)
    }).annotate({ description: "For requests with a key: the cryptography in use." })
  )
}
export const Health = Schema.Struct({ status: Schema.Literal("ok"), ...health }).annotate(
  named("Health", "The gateway takes requests.", { status: "ok", service, version })
)
const Draining = Schema.Struct({ status: Schema.Literal("draining"), ...health })
  .annotate(named("Draining", "The gateway is shutting down.", { status: "draining", service, version }))
  .pipe(HttpApiSchema.status(503))

// The middleware is on each endpoint, as in MessagesGroup.ts.
export class ModelsGroup extends HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.get("list", "/v1/models", { success: ModelList, error: ListErrors })
      .middleware(ApiKey)
      .annotateMerge(
        operation(
          "models",
          "listModels",
          "List model IDs",
          "Every composite ID that the key may use, of the clouds that are active."
        )
      ),
    HttpApiEndpoint.get("get", "/v1/models/:id", {
      params: { id: string("The composite ID.", "claude-sonnet-4-5:il5") },
      success: ModelObject,
      error: ModelErrors
    })
      .middleware(ApiKey)
      .annotateMerge(
        operation(
          "models",
          "getModel",
          "Get a model ID",
          "The entry of the list with this ID; 404 where the key may not use it."
        )
      )
  )
  .annotateMerge(section("Models", "The model IDs that can be requested.")) {}

export class HealthGroup extends HttpApiGroup.make("health", { topLevel: true })
  .add(
    HttpApiEndpoint.get("health", "/health", { success: [Health, Draining], error: HealthErrors }).annotateMerge(
      operation(
        undefined,
        "getHealth",
        "Health",
        "Whether this process takes requests. Needs no key; with one it also says what the boundary rests on."
      )
    )
  )
  .annotateMerge(section("Health", "For load balancers.")) {}
