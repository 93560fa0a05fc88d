/** What the spans and metrics of upstream calls say, in the words of the OpenTelemetry GenAI conventions. */
import { cloudFacts } from "../catalog/clouds.ts"
import type { Operation } from "../catalog/Route.ts"
import type { CallSpanOptions, ResponseNames } from "../telemetry/spans.ts"
import { type JsonObject, objectOf, textOf } from "../wire/json.ts"
import type { CallKind, Target } from "./Cloud.ts"

/** Names of `gen_ai.operation.name`. */
const operationNames: Readonly<Record<Operation, string>> = {
  messages: "chat",
  chat: "chat",
  responses: "chat",
  content: "generate_content",
  count: "count_tokens",
  embeddings: "embeddings"
}

/** What is known of a call from its start. `sandbox`: its cloud is simulated. */
export const spanOf = ({ operation, route, stream }: CallKind, target: Target, sandbox: boolean): CallSpanOptions => ({
  operation: operationNames[operation],
  provider: cloudFacts[route.deployment.cloud].provider,
  model: route.model.id,
  address: target.address,
  port: target.port,
  sandbox,
  level: route.level,
  deployment: route.deployment.model,
  stream
})

const shown = (value: unknown): string | undefined => textOf(value)?.slice(0, 100) || undefined

/**
 * `gen_ai.response.*` of a whole reply or of a stream's first event, in the words of any of the vendors. Only these fields of
 * the vendors' own: nothing of what a model said.
 */
export const responseNames = (body: JsonObject): ResponseNames => {
  const inner = objectOf(body.message ?? body.response ?? body)
  return {
    model: shown(inner.model) ?? shown(inner.modelVersion),
    id: shown(inner.id) ?? shown(inner.responseId)
  }
}
