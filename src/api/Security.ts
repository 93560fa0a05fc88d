/** The API key, and who it belongs to (spec: Authentication). */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"

/** Who is calling, once the key is known to be good. */
export interface CallerIdentity {
  /** The key's ID, never its secret. */
  readonly keyId: string
}
export class Caller extends Context.Service<Caller, CallerIdentity>()("gateway/api/Caller") {}

/** Every endpoint but `/health` wants the key in `x-api-key`; `Authorization` is ignored. */
export class ApiKey extends HttpApiMiddleware.Service<ApiKey, { provides: Caller }>()("gateway/api/ApiKey", {
  security: {
    apiKey: HttpApiSecurity.apiKey({ key: "x-api-key", in: "header" }).pipe(
      HttpApiSecurity.annotateMerge(OpenApi.annotations({ description: "The key that the operator gave you." }))
    )
  },
  requiredForClient: true
}) {}
