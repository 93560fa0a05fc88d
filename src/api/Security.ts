/** The API key, and who it belongs to (docs/api.md#authentication). */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import { KeyErrors, MessagesKeyErrors } from "./Errors.ts"

/** What a key or a team may use. An absent limit is no limit. */
export interface Limits {
  readonly requestsPerMinute?: number | undefined
  /** Streams at the same time. */
  readonly streams?: number | undefined
  /** Tokens in a UTC calendar month and in a UTC day, input and output together. */
  readonly monthlyTokens?: number | undefined
  readonly dailyTokens?: number | undefined
}

/** A team, whose limits all its keys share. */
export interface TeamIdentity extends Limits {
  readonly name: string
  /** In whole units of the catalog's currency, in a UTC calendar month. */
  readonly monthlyCost?: number | undefined
}

/** Who is calling, once the key is known to be good: what the key and its team may use, and never its secret. */
export interface CallerIdentity extends Limits {
  readonly id: string
  readonly name: string
  /** Base models, or the start of names and `*`. */
  readonly models?: ReadonlyArray<string> | undefined
  readonly levels?: ReadonlyArray<string> | undefined
  readonly team?: TeamIdentity | undefined
  readonly owner?: string | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
}
export class Caller extends Context.Service<Caller, CallerIdentity>()("gateway/api/Caller") {}

const security = {
  apiKey: HttpApiSecurity.apiKey({ key: "x-api-key", in: "header" }).pipe(
    HttpApiSecurity.annotateMerge(OpenApi.annotations({ description: "The key that the operator gave you." }))
  )
}

/** Every endpoint but `/health` wants the key in `x-api-key`; `Authorization` is ignored. */
export class ApiKey extends HttpApiMiddleware.Service<ApiKey, { provides: Caller }>()("gateway/api/ApiKey", {
  security,
  error: KeyErrors,
  requiredForClient: true
}) {}

/** The same key, refused in the shape of the messages endpoints. */
export class MessagesKey extends HttpApiMiddleware.Service<MessagesKey, { provides: Caller }>()(
  "gateway/api/MessagesKey",
  { security, error: MessagesKeyErrors, requiredForClient: true }
) {}
