/** Signatures and bearer keys for Bedrock. */
import https from "node:https"
import { Clock, Effect, Option, Redacted } from "effect"
import { steadyMillis } from "../../wire/steady.ts"
import {
  type AuthHeaders,
  type Credential,
  type CredentialError,
  credentialError,
  fixedHeaders,
  type Signable
} from "./Credential.ts"
import { bearer, pauseMillis } from "./Token.ts"

export interface AwsOptions {
  /** Where credentials themselves come from (the STS of this region, never another partition's). */
  readonly region: string
  /** Whether STS and SSO are reached at their FIPS endpoints. */
  readonly fips: boolean
  /** A Bedrock API key (`AWS_BEARER_TOKEN_BEDROCK`); it replaces the signature. */
  readonly bearerToken?: Redacted.Redacted<string> | undefined
  /** Fixed keys, which go before the default chain. */
  readonly keys?: AwsKeys | undefined
}

/** An access key pair, with a session token where it is temporary. */
export interface AwsKeys {
  readonly accessKeyId: Redacted.Redacted<string>
  readonly secretAccessKey: Redacted.Redacted<string>
  readonly sessionToken: Option.Option<Redacted.Redacted<string>>
}

const failed = credentialError(
  "the AWS default chain",
  "attach a role, set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or set AWS_BEARER_TOKEN_BEDROCK"
)

/**
 * Signature Version 4 for the service `bedrock` with the AWS default credential chain, or a bearer key. The chain is
 * the vendor's: environment, profile and SSO, web identity, container, instance. It refreshes by the rules of our
 * other credentials (5 minutes early, in the background, one attempt for all), so it needs no cache of ours.
 */
export const aws = (options: AwsOptions): Effect.Effect<Credential, CredentialError> => {
  const { bearerToken } = options
  return bearerToken === undefined ? signature(options) : Effect.succeed(fixedHeaders(bearer(bearerToken)))
}

const signature = Effect.fnUntraced(function* ({ region, fips, keys }: AwsOptions) {
  const [{ defaultProvider }, { SignatureV4 }, { Sha256 }] = yield* attempt(() =>
    Promise.all([
      import("@aws-sdk/credential-provider-node"),
      import("@smithy/signature-v4"),
      import("@smithy/core/checksum")
    ])
  )
  const credentials =
    keys === undefined
      ? defaultProvider({
          parentClientConfig: { region }, // what STS falls back to; SSO keeps the region of its own profile
          clientConfig: {
            ...(fips ? { useFipsEndpoint: true } : {}), // else the library's own setting decides
            // Node's own, which goes by the operator's proxy where there is one; the library's own never does.
            requestHandler: { httpsAgent: https.globalAgent }
          }
        })
      : fixed(keys)
  const signer = new SignatureV4({
    service: "bedrock",
    region,
    credentials,
    sha256: Sha256,
    applyChecksum: false // the signature covers the body's hash; Bedrock does not need it as a header too
  })

  const headers = Effect.fnUntraced(function* (request: Signable) {
    const now = yield* Clock.currentTimeMillis
    const { url } = request
    const signed = yield* attempt(() =>
      signer.sign(
        {
          method: "POST",
          protocol: url.protocol,
          hostname: url.hostname,
          path: url.pathname,
          query: Object.fromEntries(url.searchParams),
          headers: { ...request.headers, host: url.host },
          body: request.body
        },
        { signingDate: new Date(now), signingRegion: request.region }
      )
    )
    const { host: _, ...rest } = signed.headers
    return rest
  })

  let refusableAt = Number.NEGATIVE_INFINITY
  const paused = Effect.map(steadyMillis, (now) => {
    refusableAt = now + pauseMillis
  })
  const refresh = Effect.fnUntraced(function* (refused: AuthHeaders) {
    const current = yield* attempt(() => credentials())
    if (current.sessionToken !== refused["x-amz-security-token"]) return
    if ((yield* steadyMillis) < refusableAt) return
    yield* attempt(() => credentials({ forceRefresh: true })).pipe(
      Effect.withSpan("credentials refresh"),
      Effect.ensuring(paused)
    )
  })

  /** The library notes it for its own user agent: `CREDENTIALS_PROFILE_SSO`. */
  const source = Effect.map(
    attempt(() => credentials()),
    (identity) => {
      const noted = "$source" in identity ? Object.keys(Object(identity.$source)) : []
      return (
        noted
          .map((name) =>
            name
              .replace(/^CREDENTIALS_/, "")
              .replaceAll("_", " ")
              .toLowerCase()
          )
          .join(", ") || undefined
      )
    }
  )

  return keys === undefined ? { headers, refresh, source } : { headers }
})

/** In the shape of the default chain, which takes options. */
const fixed = (keys: AwsKeys) => {
  const sessionToken = Option.getOrUndefined(keys.sessionToken)
  const identity = {
    accessKeyId: Redacted.value(keys.accessKeyId),
    secretAccessKey: Redacted.value(keys.secretAccessKey),
    ...(sessionToken === undefined ? {} : { sessionToken: Redacted.value(sessionToken) })
  }
  return (_options?: object) => Promise.resolve(identity)
}

const attempt = <A>(promise: () => Promise<A>) => Effect.tryPromise({ try: promise, catch: failed })
