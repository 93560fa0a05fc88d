/** The model list and the health check. */
import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { permits } from "../access/Keys.ts"
import { Api } from "../api/Api.ts"
import { Caller } from "../api/Security.ts"
import { service, version } from "../api/version.ts"
import { CatalogStore } from "../model/CatalogStore.ts"
import { Drain } from "./Drain.ts"

/** Every ID that the caller can request, in catalog order (docs/api.md#model-list). */
export const modelsLayer = HttpApiBuilder.group(
  Api,
  "models",
  Effect.fn(function* (handlers) {
    const catalog = yield* CatalogStore
    return handlers.handle("list", () =>
      Effect.map(Caller, (caller) => ({
        object: "list" as const,
        data: catalog
          .current()
          .list.filter(({ model, level }) => Result.isSuccess(permits(caller, { base: model.id, level })))
          .map(({ id, created, ownedBy }) => ({ id, object: "model" as const, created, owned_by: ownedBy }))
      }))
    )
  })
)

export const healthLayer = HttpApiBuilder.group(
  Api,
  "health",
  Effect.fn(function* (handlers) {
    const drain = yield* Drain
    return handlers.handle("health", () =>
      Effect.sync(() => {
        const draining = drain.draining()
        return HttpServerResponse.jsonUnsafe(
          { status: draining ? "draining" : "ok", service, version },
          { status: draining ? 503 : 200 }
        )
      })
    )
  })
)
