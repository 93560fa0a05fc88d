import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"

const later = Effect.sync(() =>
  HttpServerResponse.jsonUnsafe({ error: { type: "api_error", message: "not served yet" } }, { status: 501 })
)
export const chatLayer = HttpApiBuilder.group(Api, "chat", (h) => h.handleRaw("completions", () => later))
export const responsesLayer = HttpApiBuilder.group(Api, "responses", (h) => h.handleRaw("create", () => later))
export const embeddingsLayer = HttpApiBuilder.group(Api, "embeddings", (h) => h.handleRaw("create", () => later))
