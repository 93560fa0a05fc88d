/** Which surface answers which endpoint of the contract. */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../contract/Api.ts"
import { chat } from "../surfaces/chat.ts"
import { embeddings } from "../surfaces/embeddings.ts"
import { countTokens, messages } from "../surfaces/messages.ts"
import { responses } from "../surfaces/responses.ts"
import { Inference } from "./Inference.ts"

const chatGroup = HttpApiBuilder.group(Api, "chat", (handlers) =>
  Effect.map(Inference, ({ handler }) => {
    const completions = handler(chat)
    return handlers.handleRaw("completions", ({ request }) => completions(request))
  })
)

const messagesGroup = HttpApiBuilder.group(Api, "messages", (handlers) =>
  Effect.map(Inference, ({ handler }) => {
    const create = handler(messages)
    const count = handler(countTokens)
    return handlers
      .handleRaw("create", ({ request }) => create(request))
      .handleRaw("countTokens", ({ request }) => count(request))
  })
)

const responsesGroup = HttpApiBuilder.group(Api, "responses", (handlers) =>
  Effect.map(Inference, ({ handler }) => {
    const create = handler(responses)
    return handlers.handleRaw("create", ({ request }) => create(request))
  })
)

const embeddingsGroup = HttpApiBuilder.group(Api, "embeddings", (handlers) =>
  Effect.map(Inference, ({ handler }) => {
    const create = handler(embeddings)
    return handlers.handleRaw("create", ({ request }) => create(request))
  })
)

export const surfacesLayer = Layer.mergeAll(chatGroup, messagesGroup, responsesGroup, embeddingsGroup)
