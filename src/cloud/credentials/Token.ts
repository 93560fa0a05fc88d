/** A bearer token that is refreshed before it expires. */
import { Clock, Duration, Effect, Redacted, type Scope } from "effect"
import { steadyMillis } from "../../wire/steady.ts"
import { type AuthHeaders, CredentialError } from "./Credential.ts"

/** A token and when it expires, in milliseconds since the epoch. */
export interface Token {
  readonly token: Redacted.Redacted<string>
  readonly expiresAt: number
}

/** The current token of one credential. */
export interface TokenCache {
  readonly get: Effect.Effect<Redacted.Redacted<string>, CredentialError>
  /** Replaces the token, unless `refused` carried another one than the current, or a refused one was replaced just now. */
  readonly refresh: (refused: AuthHeaders) => Effect.Effect<void, CredentialError>
}

/** How long before its expiry a token is replaced, in milliseconds: 5 minutes, as the clouds' own libraries do. */
const earlyMillis = 5 * 60_000

/** A token this close to its expiry is not used any more, in milliseconds: it could expire on the way. */
const marginMillis = 10_000

/**
 * Shortest time between two attempts while there is a valid token, in milliseconds: what a cloud refuses of one caller (a model that
 * it does not serve to this account) must not let the token service turn away all of them.
 */
export const pauseMillis = 10_000

/** Longest wait for a token service, in milliseconds; not every library has a limit of its own. */
const acquireMillis = 30_000

const timedOut = new CredentialError({ message: "no credentials: the token service did not answer in 30 seconds" })

/**
 * Keeps what `acquire` answers. All who need a token at one moment wait for one `acquire`, and share its failure.
 * Within 5 minutes of the expiry (or the last half of a shorter life) the token is replaced in the background of the
 * scope; should that fail, the old one serves until it expires. `acquire` must not answer from a cache of its own.
 */
export const makeTokenCache = (
  acquire: Effect.Effect<Token, CredentialError>
): Effect.Effect<TokenCache, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    let current: Token | undefined
    // By the steady clock: one that is set back must not make a token live longer.
    let expiresAt = 0
    let replaceAt = 0
    let refusableAt = Number.NEGATIVE_INFINITY

    // With less than no time to live only a run in progress is shared. It goes on when the caller who began it leaves.
    const shared = yield* acquire.pipe(
      Effect.timeoutOrElse({ duration: acquireMillis, orElse: () => Effect.fail(timedOut) }),
      Effect.withSpan("credentials refresh"),
      Effect.flatMap((token) =>
        Effect.zipWith(Clock.currentTimeMillis, steadyMillis, (today, now) => {
          const life = token.expiresAt - today
          current = token
          expiresAt = now + life
          replaceAt = now + Math.max(life - earlyMillis, life / 2)
          return token
        })
      ),
      Effect.cachedWithTTL(Duration.negativeInfinity)
    )

    const get = Effect.flatMap(steadyMillis, (now) => {
      if (current === undefined || now >= expiresAt - marginMillis) return shared
      if (now < replaceAt) return Effect.succeed(current)
      replaceAt = now + pauseMillis
      return shared.pipe(Effect.ignore, Effect.forkIn(scope), Effect.as(current))
    })

    const paused = Effect.map(steadyMillis, (now) => {
      refusableAt = now + pauseMillis
    })
    const refresh = (refused: AuthHeaders) =>
      Effect.flatMap(steadyMillis, (now) =>
        current !== undefined && (refused.authorization !== bearer(current.token).authorization || now < refusableAt)
          ? Effect.void
          : Effect.ensuring(Effect.asVoid(shared), paused)
      )

    return { get: Effect.map(get, ({ token }) => token), refresh }
  })

/** The header that carries a token. */
export const bearer = (token: Redacted.Redacted<string>) => ({ authorization: `Bearer ${Redacted.value(token)}` })
