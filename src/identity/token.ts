/**
 * Checks JSON Web Tokens (RFC 7519, RFC 8725) with jose; what is added here is which tokens are looked at, and in which words they
 * are refused. An issuer's public keys come from a file, or are fetched from its address and kept while it cannot be reached.
 */
import { ByteSize, Duration, Effect, Result, type Scope, Semaphore, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify
} from "jose"
import { GatewayError, type Refusal } from "../catalog/GatewayError.ts"
import { readExactObject } from "../wire/parse.ts"
import { algorithms, type Issuer } from "./IdentityFile.ts"
import { callerId } from "./rules.ts"

export interface IssuerKeys {
  /** Undefined until they have been fetched for the first time. */
  readonly current: () => JWTVerifyGetKey | undefined
  /** Fetches them for a token with an unknown `kid`, at most once a minute however many tokens have one. */
  readonly refresh: Effect.Effect<void>
}

/** Throws where they are none. */
const keysIn = (set: unknown): JWTVerifyGetKey => createLocalJWKSet(set as JSONWebKeySet)

export const parseKeys = (file: Buffer): Result.Result<IssuerKeys, string> =>
  Result.map(
    Result.try({ try: () => keysIn(JSON.parse(file.toString("utf8"))), catch: () => "it is no JSON Web Key Set" }),
    (keys) => ({ current: () => keys, refresh: Effect.void })
  )

const onDemand = 60_000
const regularly = "10 minutes"
/** While none are known. */
const soon = "5 seconds"

/** What the innermost cause of an error says. */
const innermost = (error: unknown): string => {
  const { cause, code, message, reason } = Object(error)
  const next: unknown = reason ?? cause
  return next instanceof Error ? innermost(next) : String(message || code)
}

/** Sets of keys are a few kilobytes. */
const maxKeys = ByteSize.mebibytes(1)

/** By Node's own `fetch`, which goes by the operator's proxy and TLS policy. Redirects are not followed. */
export const fetchKeys = (url: string) =>
  HttpClient.get(url, { accept: "application/jwk-set+json, application/json" }).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap(({ stream }) =>
      stream.pipe(
        Stream.limitBytes(maxKeys, () => Stream.fail({ message: "they have more than 1 MiB" })),
        Stream.decodeText,
        Stream.mkString
      )
    ),
    Effect.flatMap((text) => Effect.try(() => keysIn(JSON.parse(text)))),
    Effect.timeout("5 seconds"),
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
    Effect.mapError((error) => ({ message: `the keys at ${url} cannot be fetched: ${innermost(error)}` }))
  )

/** The keys at an address. They never grow stale: what is known stays while the issuer is down, which does not hold up the start. */
export const keysAt = Effect.fnUntraced(function* (url: string): Effect.fn.Return<IssuerKeys, never, Scope.Scope> {
  let known: JWTVerifyGetKey | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  const one = yield* Semaphore.make(1)
  const fetched = Effect.gen(function* () {
    askedAt = performance.now()
    known = yield* fetchKeys(url)
  }).pipe(
    Effect.catch(({ message }) =>
      Effect.logWarning(`${message}${known === undefined ? "" : "; those that are known stay in force"}`)
    )
  )
  yield* one
    .withPermits(1)(fetched)
    .pipe(
      Effect.andThen(() => Effect.sleep(known === undefined ? soon : regularly)),
      Effect.forever,
      Effect.forkScoped({ startImmediately: true })
    )
  // A caller that leaves does not use up the minute.
  const refresh = one.withPermits(1)(
    Effect.suspend(() => (performance.now() - askedAt < onDemand ? Effect.void : Effect.uninterruptible(fetched)))
  )
  return { current: () => known, refresh }
})

/** Longest token, in characters: those of directories with many groups are a few thousand. */
const maxToken = 16 * 1024

export const refusedToken = (why: string, refusal: Refusal = "token", id?: string): GatewayError =>
  new GatewayError({
    reason: "unauthenticated",
    message: `The token ${why}. Send a token of a trusted issuer as Authorization: Bearer, or a key in the header x-api-key.`,
    refused: { why: refusal, id }
  })

/** Headers by which a token would name its own key, or ask for what is not understood here. */
const ownKeys = ["jku", "jwk", "x5u", "x5c", "crit"]

/** The issuer that a token names; whether it is that issuer's is not known yet. */
export const issuerOf = (token: string): Result.Result<string, GatewayError> => {
  if (token.length > maxToken) return Result.fail(refusedToken(`has more than ${maxToken} characters`))
  const read = Result.try({
    try: () => ({ header: decodeProtectedHeader(token), claims: decodeJwt(token) }),
    catch: () => refusedToken("cannot be read")
  })
  return Result.flatMap(read, ({ claims, header }) => {
    const own = ownKeys.find((name) => name in header)
    if (own !== undefined) return Result.fail(refusedToken(`has the header ${own}, which is not taken`))
    return typeof claims.iss === "string"
      ? Result.succeed(claims.iss)
      : Result.fail(refusedToken("names no issuer (iss)"))
  })
}

/** Keys that are tried for one token, at most: an issuer has a few of a kind, and strangers decide how often they are tried. */
const maxTries = 16

/** By the key that the token names, or by each that it may mean: it may name none, and issuers may publish two of one name. */
const verified = async (token: string, keys: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<JWTPayload> => {
  try {
    return (await jwtVerify(token, keys, options)).payload
  } catch (cause) {
    if (!(cause instanceof errors.JWKSMultipleMatchingKeys)) throw cause
    let tries = 0
    for await (const key of cause) {
      if (++tries > maxTries) break
      try {
        return (await jwtVerify(token, key, options)).payload
      } catch (other) {
        if (!(other instanceof errors.JWSSignatureVerificationFailed)) throw other
      }
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

/** What jose says, in words for the caller; nothing of the token is repeated. */
const wordsOf = (cause: unknown): string => {
  if (cause instanceof errors.JWTExpired) return "has expired"
  if (cause instanceof errors.JWTClaimValidationFailed) {
    if (cause.claim === "aud") return "is for another audience (aud)"
    if (cause.claim === "nbf") return "is not valid yet (nbf)"
    return `has no valid claim ${cause.claim}`
  }
  if (cause instanceof errors.JOSEAlgNotAllowed || cause instanceof errors.JOSENotSupported) {
    return "is signed with an algorithm that is not taken"
  }
  if (cause instanceof errors.JWKSNoMatchingKey) return "is signed with a key that its issuer does not publish"
  return "is not signed by its issuer"
}

const refusalOf = (cause: unknown, issuer: string): GatewayError => {
  // jose checks the signature first: a token that is refused for what it says is its issuer's, and so is its subject.
  const isSigned = cause instanceof errors.JWTExpired || cause instanceof errors.JWTClaimValidationFailed
  const sub = isSigned ? cause.payload.sub : undefined
  const id = typeof sub === "string" ? callerId("jwt", issuer, sub) : undefined
  return refusedToken(wordsOf(cause), cause instanceof errors.JWTExpired ? "expired" : "token", id)
}

const unavailable = new GatewayError({
  reason: "overloaded",
  message: "the keys of the token's issuer could not be fetched yet; try again in a moment",
  retryAfter: 5
})

/** In seconds, from `iat`; from now where it has none, or one that is still to come. */
const lifetimeOf = ({ exp = 0, iat = Infinity }: JWTPayload): number => exp - Math.min(iat, Date.now() / 1000)

/** The claims of a token that this issuer has signed for this gateway. */
export const verifyToken = Effect.fnUntraced(function* (
  token: string,
  { audience, clockSkew = Duration.minutes(1), issuer, maxLifetime = Duration.hours(1), ...rest }: Issuer,
  { current, refresh }: IssuerKeys
) {
  const skew = Duration.toSeconds(clockSkew)
  const options = {
    algorithms: [...(rest.algorithms ?? algorithms)],
    audience: [audience].flat(),
    issuer,
    clockTolerance: skew,
    requiredClaims: ["exp"]
  }
  const verify = Effect.suspend(() => {
    const keys = current()
    return keys === undefined
      ? Effect.fail(unavailable)
      : Effect.tryPromise({ try: () => verified(token, keys, options), catch: (cause) => cause })
  })
  const payload = yield* verify.pipe(
    Effect.catchIf(
      (cause) => cause instanceof errors.JWKSNoMatchingKey,
      () => Effect.andThen(refresh, verify)
    ),
    Effect.mapError((cause) => (cause instanceof GatewayError ? cause : refusalOf(cause, issuer)))
  )
  const { sub } = payload
  if (typeof sub !== "string" || sub === "") return yield* refusedToken("has no subject (sub)")
  if (lifetimeOf(payload) > Duration.toSeconds(maxLifetime) + skew) {
    const why = `is valid for longer than ${Duration.format(maxLifetime)}`
    return yield* refusedToken(why, "token", callerId("jwt", issuer, sub))
  }
  // Rules go by names and numbers as they were signed, which the engine's parser may change (docs/architecture.md#json).
  const [, claims = ""] = token.split(".")
  return { ...readExactObject(Buffer.from(claims, "base64url").toString("utf8")), sub }
})
