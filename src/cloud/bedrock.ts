/**
 * Amazon Bedrock: InvokeModel for Claude and Titan, the OpenAI-compatible route for GPT (docs/upstreams.md#amazon-bedrock), with
 * its signatures and bearer keys.
 */
import https from "node:https"
import { Clock, Effect, Option, Redacted } from "effect"
import { withoutMetrics } from "../catalog/Tokens.ts"
import { environment } from "../Settings.ts"
import type { BedrockSettings } from "../settings/clouds.ts"
import { awsFrames, sse } from "../stream/framing.ts"
import { type JsonObject, numberOf, objectOf } from "../wire/json.ts"
import {
  bearer,
  type Credential,
  CredentialError,
  credentialError,
  fixedHeaders,
  makeRefresh,
  readNamed,
  type Signable,
  timedOut,
  waitForToken
} from "./credentials.ts"
import type { CallKind, Cloud, Message } from "./Provider.ts"

type Credentials = Pick<BedrockSettings, "bearerToken" | "fips" | "keys" | "region">

const failed = (cause: unknown) => {
  const profile = environment().AWS_PROFILE ?? ""
  return credentialError(
    profile === "" ? "the AWS default chain" : `the AWS default chain with AWS_PROFILE ${profile}`,
    "attach a role, set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or set AWS_BEARER_TOKEN_BEDROCK"
  )(cause)
}

/**
 * Signature Version 4 for the service `bedrock` with the AWS default credential chain, or a bearer key. The chain is
 * the vendor's: environment, profile and SSO, web identity, container, instance. It refreshes by the rules of our
 * other credentials (5 minutes early, in the background, one attempt for all), so it needs no cache of ours.
 */
export const credentialOf = (settings: Credentials): Effect.Effect<Credential, CredentialError> =>
  Option.isSome(settings.bearerToken)
    ? Effect.succeed(fixedHeaders(bearer(settings.bearerToken.value)))
    : signature(settings)

/** STS is that of the region, never of another partition; with `fips` it and SSO are reached at their FIPS endpoints. */
const defaultChain = Effect.fnUntraced(function* (region: string, fips: boolean) {
  const { defaultProvider } = yield* attempt(() => import("@aws-sdk/credential-provider-node"))
  return () =>
    defaultProvider({
      parentClientConfig: { region }, // what STS falls back to; SSO keeps the region of its own profile
      clientConfig: {
        ...(fips ? { useFipsEndpoint: true } : {}), // else the library's own setting decides
        // Node's agent, which uses the operator's proxy where there is one; the library's own never does.
        requestHandler: { httpsAgent: https.globalAgent }
      }
    })
})

const signature = Effect.fnUntraced(function* ({ region, fips, keys }: Credentials) {
  const [{ SignatureV4 }, { Sha256 }] = yield* attempt(() =>
    Promise.all([import("@smithy/signature-v4"), import("@smithy/core/checksum")])
  )
  const makeChain = Option.isSome(keys) ? () => fixed(keys.value) : yield* defaultChain(region, fips)
  let chain = makeChain()
  const credentials = (options?: { readonly forceRefresh?: boolean }) => chain(options)
  /** All who ask the library share what it waits for, also later, so that a chain that does not answer is replaced. */
  const ask = <A>(promise: () => Promise<A>) =>
    Effect.suspend(() => {
      const asked = chain
      return Effect.tapError(attempt(promise), (error) =>
        Effect.sync(() => {
          if (error === timedOut && chain === asked) chain = makeChain()
        })
      )
    })
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
    const signed = yield* ask(() =>
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

  const current = ask(() => credentials())
  const refresh = makeRefresh(
    (refused) => Effect.map(current, ({ sessionToken }) => sessionToken === refused["x-amz-security-token"]),
    Effect.withSpan(
      ask(() => credentials({ forceRefresh: true })),
      "credentials refresh"
    )
  )

  /** The library notes it for its own user agent: `CREDENTIALS_PROFILE_SSO`. */
  const source = Effect.map(current, (identity) => {
    const noted = "$source" in identity ? Object.keys(Object(identity.$source)) : []
    const words = noted.map((name) =>
      name
        .replace(/^CREDENTIALS_/, "")
        .replaceAll("_", " ")
        .toLowerCase()
    )
    return words.join(", ") || undefined
  })

  return Option.isNone(keys) ? { headers, refresh, source } : { headers }
})

/** In the shape of the default chain, which takes options. */
const fixed = (keys: Option.Option.Value<Credentials["keys"]>) => {
  const sessionToken = Option.getOrUndefined(keys.sessionToken)
  const identity = {
    accessKeyId: Redacted.value(keys.accessKeyId),
    secretAccessKey: Redacted.value(keys.secretAccessKey),
    ...(sessionToken === undefined ? {} : { sessionToken: Redacted.value(sessionToken) })
  }
  return (_options?: object) => Promise.resolve(identity)
}

const files = [
  "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
  "AWS_SHARED_CREDENTIALS_FILE",
  "AWS_CONFIG_FILE"
]

/** With the first of its files that cannot be read: the library does not say which, and does without some. */
const nameFile = (error: CredentialError) =>
  Effect.forEach(files, (variable) => {
    const path = environment()[variable] ?? ""
    return path === "" ? Effect.void : readNamed(variable, path)
  }).pipe(
    Effect.mapError(({ message }) => new CredentialError({ ...error, message: `${error.message}. ${message}` })),
    Effect.andThen(Effect.fail(error))
  )

const attempt = <A>(promise: () => Promise<A>) =>
  Effect.tryPromise({ try: promise, catch: failed }).pipe(Effect.catch(nameFile), waitForToken)

/** Semantics of Anthropic's API version 2023-06-01; the 2026-10-21 one refuses sampling parameters. */
const anthropicVersion = "bedrock-2023-05-31"

const host = ({ fips }: BedrockSettings, region: string) =>
  `https://bedrock-runtime${fips ? "-fips" : ""}.${region}.amazonaws.com`

const path = ({ operation, route, stream }: CallKind) => {
  switch (operation) {
    case "chat":
    case "responses":
      return `/openai/v1/${operation === "chat" ? "chat/completions" : "responses"}`
    case "count":
      return `/model/${encodeURIComponent(route.deployment.countModel ?? route.deployment.model)}/count-tokens`
    default:
      return `/model/${encodeURIComponent(route.deployment.model)}/invoke${stream ? "-with-response-stream" : ""}`
  }
}

/** InvokeModel names the model and the streaming in the address, and refuses them in the body. */
const invokeBody = ({ model: _, stream: __, ...rest }: JsonObject): JsonObject => ({
  anthropic_version: anthropicVersion,
  ...rest
})

/** CountTokens wants the whole invoke body in base64, which must have a `max_tokens`; the count does not depend on it. */
const countMessage = (body: JsonObject): Message => {
  const budget = numberOf(objectOf(body.thinking).budget_tokens) ?? 0
  return {
    body: { ...invokeBody(body), max_tokens: budget + 1 },
    wrap: (json) => ({ input: { invokeModel: { body: Buffer.from(json).toString("base64") } } })
  }
}

const isFramed = ({ operation, stream }: CallKind): boolean => stream && operation === "messages"

const message = (call: CallKind, body: JsonObject): Message => {
  if (call.operation === "count") return countMessage(body)
  if (call.operation !== "messages") return { body }
  return { body: invokeBody(body), headers: isFramed(call) ? { "x-amzn-bedrock-accept": "application/json" } : {} }
}

/** The body in the messages format: Bedrock has its own field for a count, and adds metrics to a message. */
const reply = ({ operation }: CallKind, body: JsonObject): JsonObject | undefined => {
  if (operation === "messages") return withoutMetrics(body)
  if (operation !== "count") return body
  return typeof body.inputTokens === "number" ? { input_tokens: body.inputTokens } : undefined
}

export const bedrock = (settings: BedrockSettings): Cloud => ({
  name: "bedrock",
  endpoint: {
    baseUrl: Option.getOrUndefined(settings.baseUrl),
    regions: ({ route }) => route.deployment.regions ?? [settings.region],
    host: (region) => host(settings, region),
    path,
    message,
    reply
  },
  region: settings.region,
  credential: Option.isSome(settings.bearerToken)
    ? "AWS_BEARER_TOKEN_BEDROCK"
    : Option.isSome(settings.keys)
      ? "AWS_ACCESS_KEY_ID"
      : "the AWS default chain",
  auth: credentialOf(settings),
  framing: (call) =>
    isFramed(call)
      ? { contentType: "application/vnd.amazon.eventstream", decoder: awsFrames }
      : { contentType: "text/event-stream", decoder: sse }
})
