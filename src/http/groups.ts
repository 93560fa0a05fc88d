/** Which surface answers which endpoint of the contract. */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../contract/Api.ts"
import { chat } from "../surfaces/chat.ts"
import { embeddings } from "../surfaces/embeddings.ts"
import { countTokens, messages } from "../surfaces/messages.ts"
import { responses } from "../surfaces/responses.ts"
import { Inference } from "./Inference.ts"

export const surfacesLayer = Layer.mergeAll(
  HttpApiBuilder.group(Api, "chat", (handlers) =>
    Effect.map(Inference, ({ handler }) => handlers.handleRaw("completions", handler(chat)))
  ),
  HttpApiBuilder.group(Api, "messages", (handlers) =>
    Effect.map(Inference, ({ handler }) =>
      handlers.handleRaw("create", handler(messages)).handleRaw("countTokens", handler(countTokens))
    )
  ),
  HttpApiBuilder.group(Api, "responses", (handlers) =>
    Effect.map(Inference, ({ handler }) => handlers.handleRaw("create", handler(responses)))
  ),
  HttpApiBuilder.group(Api, "embeddings", (handlers) =>
    Effect.map(Inference, ({ handler }) => handlers.handleRaw("create", handler(embeddings)))
  )
)
