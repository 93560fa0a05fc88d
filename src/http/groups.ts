/** Which surface answers which endpoint of the contract, the model list, and the health check. */
import { Clock, Effect, Layer, Option, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { CatalogStore } from "../catalog/CatalogStore.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { Entry } from "../catalog/Route.ts"
import { Api } from "../contract/Api.ts"
import { Caller } from "../contract/Security.ts"
import { service, version } from "../contract/version.ts"
import { cryptoFacts } from "../fips.ts"
import { Keys, mayUse } from "../limits/Keys.ts"
import { Clouds, Settings } from "../Settings.ts"
import { declarationsOf, loopbacksOf } from "../settings/clouds.ts"
import { chat } from "../surfaces/chat.ts"
import { embeddings } from "../surfaces/embeddings.ts"
import { apiError } from "../surfaces/errorResponse.ts"
import { countTokens, messages } from "../surfaces/messages.ts"
import { responses } from "../surfaces/responses.ts"
import { auditOf } from "./authenticate.ts"
import { Drain } from "./Drain.ts"
import { Inference } from "./Inference.ts"
import { CurrentRecord, failWith } from "./RequestRecord.ts"

const modelOf = ({ id, model }: Entry) => ({
  id,
  object: "model" as const,
  created: model.created,
  owned_by: model.ownedBy
})

const noModel = new GatewayError({
  reason: "not-found",
  message: "there is no model of this ID that the key may use; GET /v1/models lists every ID"
})

/** Every ID that the caller can request, in catalog order (docs/api.md#model-list). */
export const modelsLayer = HttpApiBuilder.group(
  Api,
  "models",
  Effect.fn(function* (handlers) {
    const catalog = yield* CatalogStore
    const usable = Effect.map(Caller, (caller) => catalog.current().list.filter(mayUse(caller)))
    return handlers
      .handle("list", () => Effect.map(usable, (list) => ({ object: "list" as const, data: list.map(modelOf) })))
      .handle("get", ({ params }) =>
        Effect.flatMap(usable, (list) => {
          const found = list.find(({ id }) => id === params.id)
          if (found !== undefined) return Effect.succeed(modelOf(found))
          return Effect.flatMap(CurrentRecord, (record) => failWith(record, noModel, apiError))
        })
      )
  })
)

/**
 * A caller with a key sees what the boundary depends on beside the partition table (docs/operation.md#what-may-serve-what). A key that is
 * refused is audited as elsewhere, so that keys are not tried out unnoticed.
 */
export const healthLayer = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fn(function* (handlers) {
    const drain = yield* Drain
    const keys = yield* Keys
    const clock = yield* Clock.Clock
    const audit = yield* Audit
    const { extraCaCerts } = yield* Settings
    const clouds = yield* Clouds
    const foundations = {
      boundary: {
        declared: Object.fromEntries(declarationsOf(clouds).map(({ setting, serves }) => [setting, serves])),
        loopback: Object.fromEntries(loopbacksOf(clouds).map(({ servedBy, setting }) => [setting, servedBy])),
        extra_certificates: Option.isSome(extraCaCerts)
      },
      crypto: cryptoFacts()
    }
    return handlers.handle("health", ({ request }) =>
      Effect.map(CurrentRecord, (record) => {
        const draining = drain.draining()
        const key = request.headers["x-api-key"]
        const found = key === undefined ? undefined : keys.authenticate(key, clock.currentTimeMillisUnsafe())
        const known = found !== undefined && Result.isSuccess(found)
        const refused = found !== undefined && Result.isFailure(found) ? found.failure.refused : undefined
        if (refused !== undefined) audit(auditOf(refused, record))
        const facts = { service, version, ...(known ? foundations : {}) }
        return draining ? { status: "draining" as const, ...facts } : { status: "ok" as const, ...facts }
      })
    )
  })
)

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
