/** The API key, and who it belongs to (docs/api.md#authentication). */
import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { KeyErrors, MessagesKeyErrors } from "./Errors.ts"

/** What a key or a team may use. An absent limit is no limit. Months and days are those of UTC. */
export interface Limits {
  readonly requestsPerMinute?: number | undefined
  /** Input and output together, as in the other limits on tokens. */
  readonly tokensPerMinute?: number | undefined
  /** Streams at the same time. */
  readonly streams?: number | undefined
  readonly dailyTokens?: number | undefined
  readonly monthlyTokens?: number | undefined
  /** In whole units of the catalog's currency. */
  readonly dailyCost?: number | undefined
  readonly monthlyCost?: number | undefined
}

/** A team, whose limits all its keys share. */
export interface TeamIdentity extends Limits {
  readonly name: string
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
export class Caller extends Context.Service<Caller, CallerIdentity>()("gateway/contract/Caller") {}

/** IDs of callers without a key: by a token, or by a certificate (docs/identity.md). */
export const isCallerId = (id: string): boolean => /^(?:jwt|crt)_[0-9a-f]{24}$/.test(id)

/**
 * Every endpoint but `/health` wants the key in `x-api-key`; `Authorization` is ignored. The middleware reads the request itself,
 * because a token or a client certificate may take the place of the key (docs/identity.md), which no scheme of `HttpApiSecurity` says.
 */
export class ApiKey extends HttpApiMiddleware.Service<ApiKey, { provides: Caller }>()("gateway/contract/ApiKey", {
  error: KeyErrors,
  requiredForClient: true
}) {}

/** The same key, refused in the shape of the messages endpoints. */
export class MessagesKey extends HttpApiMiddleware.Service<MessagesKey, { provides: Caller }>()(
  "gateway/contract/MessagesKey",
  { error: MessagesKeyErrors, requiredForClient: true }
) {}
