/** `POST /v1/embeddings`: vectors of 1,024 (docs/api.md#embeddings). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { ApiErrors } from "./Errors.ts"
import { operation, section } from "./facts.ts"
import { type AsJson, described, int, ModelField, named, nullable, object, string } from "./fields.ts"
import { guardActions } from "./Governance.ts"
import { ApiKey } from "./Security.ts"

export const maxStrings = 512

const textOnly =
  "must be a string or an array of strings: token arrays are not accepted, because the gateway has no tokenizer to read them with; send the text"

/** `input` is judged by the surface, in the order of docs/decisions.md#order-of-embedding-checks: count, emptiness, size. */
export const EmbeddingsRequest = object({
  model: ModelField,
  // Twice, because the decoder reports an element that is no string at its own place.
  input: Schema.Union([Schema.String, Schema.Array(Schema.String.annotate({ message: textOnly }))]).annotate({
    message: textOnly,
    description:
      "The text, or up to 512 of them with 2 MiB of UTF-8 in all; each at most 8,192 tokens, and none empty.",
    examples: [["first text", "second text"]]
  }),
  encoding_format: nullable(
    Schema.Literals(["float", "base64"]).annotate({ message: "must be float or base64" }),
    "How each vector is written: numbers, or the base64 of little-endian float32 values.",
    "base64",
    { message: "must be float or base64", default: "float" }
  )
}).annotate(
  named("EmbeddingsRequest", "Texts to embed. Fields that are not listed are ignored.", {
    model: "titan-embed-text-v2:il5",
    input: ["first text", "second text"]
  })
)
export type EmbeddingsRequest = AsJson<typeof EmbeddingsRequest.Type>

export const EmbeddingList = Schema.Struct({
  object: Schema.Literal("list"),
  data: described(
    Schema.Array(
      Schema.Struct({
        object: Schema.Literal("embedding"),
        index: int("Which text of `input` this is the vector of, from 0.", 0),
        embedding: described(
          Schema.Union([Schema.Array(Schema.Finite), Schema.String]),
          "1,024 numbers of a vector of length 1, or with `encoding_format` base64 the base64 of little-endian float32 values."
        )
      })
    ),
    "One vector for each text, in the order of `input`."
  ),
  model: string("The composite ID that was asked for.", "titan-embed-text-v2:il5"),
  usage: Schema.Struct({
    prompt_tokens: int("Tokens of all texts.", 2),
    total_tokens: int("The same: a vector has no tokens.", 2)
  }).annotate({ description: "Tokens of the request." }),
  ...guardActions
}).annotate(
  named("EmbeddingList", "The vectors.", {
    object: "list",
    data: [{ object: "embedding", index: 0, embedding: [0.0123, -0.0456, 0.0789] }],
    model: "titan-embed-text-v2:il5",
    usage: { prompt_tokens: 2, total_tokens: 2 }
  })
)
export type EmbeddingList = typeof EmbeddingList.Type

export class EmbeddingsGroup extends HttpApiGroup.make("embeddings")
  .add(
    HttpApiEndpoint.post("create", "/v1/embeddings", {
      payload: EmbeddingsRequest,
      success: EmbeddingList,
      error: ApiErrors
    }).annotateMerge(
      operation(
        "embeddings",
        "createEmbeddings",
        "Create embeddings",
        "Up to 512 strings and 2 MiB in all; each is embedded by its own upstream call. Unit vectors of 1,024."
      )
    )
  )
  .middleware(ApiKey)
  .annotateMerge(section("Embeddings", "Vectors of 1,024 for text.")) {}
