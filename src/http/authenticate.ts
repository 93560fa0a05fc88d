/**
 * Who sent a request, and from where: by its key, and where the operator has set it so by a token or a client certificate
 * (docs/identity.md). `x-api-key`, where it is sent, decides alone.
 */
import type { X509Certificate } from "node:crypto"
import { isIP } from "node:net"
import { TLSSocket } from "node:tls"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import { HttpServerRequest } from "effect/http"
import { type Act, Audit } from "../audit/Audit.ts"
import { GatewayError, type Refusal } from "../catalog/GatewayError.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import { ApiKey, Caller, type CallerIdentity, MessagesKey } from "../contract/Security.ts"
import { parseCertificate } from "../identity/certificate.ts"
import { Identity, isToken } from "../identity/Identity.ts"
import { Keys } from "../limits/Keys.ts"
import { RateLimit } from "../limits/RateLimit.ts"
import { Settings } from "../Settings.ts"
import { makeIsIn } from "../settings/networks.ts"
import { apiError, messagesError } from "../surfaces/errorResponse.ts"
import { CurrentRecord, failWith, type RequestRecord } from "./RequestRecord.ts"

type Request = HttpServerRequest.HttpServerRequest

// The caller's address for records: that of the connection, or behind the operator's own proxies what they say
// (docs/operation.md#usage-records). Each proxy appends the address that called it, so the list is read from the right, as far as the
// proxies are trusted. The caller may have written the rest.

/** An address without its zone, and an IPv4 address that is written as IPv6 as IPv4. */
const plainAddress = (address: string): string =>
  address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "")

/** The address of a hop, which may have a port: IPv6 then has brackets. */
const hopOf = (text: string): string | undefined => {
  const hop = text.trim()
  const address = plainAddress(/^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop)
  return isIP(address) === 0 ? undefined : address
}

/** Most hops of `X-Forwarded-For` that are read. */
const maxHops = 32

/** `trusted`: the networks whose `X-Forwarded-For` is believed (`GATEWAY_TRUSTED_PROXIES`). */
export const makeSourceOf = (trusted: Option.Option<string>) => {
  const isTrusted = Option.isSome(trusted) ? makeIsIn(trusted.value) : undefined
  return ({ headers, remoteAddress }: Request): string | undefined => {
    if (Option.isNone(remoteAddress)) return undefined
    let source = plainAddress(remoteAddress.value)
    const forwarded = headers["x-forwarded-for"]
    if (isTrusted === undefined || forwarded === undefined) return source
    const hops = forwarded.split(",")
    for (let at = hops.length - 1; at >= Math.max(0, hops.length - maxHops) && isTrusted(source); at--) {
      const hop = hopOf(hops[at] ?? "")
      if (hop === undefined) break
      source = hop
    }
    return source
  }
}

// Who calls.

const unauthenticated = (message: string, why: Refusal = "certificate") =>
  new GatewayError({ reason: "unauthenticated", message, refused: { why } })

/** In Python in the spelling of Anthropic's SDK, whose older versions send a key of their own beside a header in another one. */
const bySdk =
  'as default_headers={"X-Api-Key": "…"} (Python), defaultHeaders: {"x-api-key": "…"} (TypeScript), option.WithHeader("x-api-key", "…") (Go) or putHeader("x-api-key", "…") (Java)'

/** Most client libraries send a key in `Authorization`. */
const onlyAuthorization = unauthenticated(
  `The API key is missing: Authorization is not read. Send your key in the header x-api-key; with an SDK, ${bySdk}.`,
  "missing"
)

const twoKeys = unauthenticated(
  `There is more than one API key. Send one header x-api-key; with an SDK that sends a key of its own, ${bySdk}.`,
  "unknown"
)

/** Whether a header came twice: Node takes the first, and a proxy may have checked the other. */
export const repeats = (request: Request, wanted: string): boolean => {
  const { rawHeaders } = NodeHttpServerRequest.toIncomingMessage(request)
  return rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === wanted).length > 1
}

const bearer = /^bearer +([^ ]+) *$/i

/** Bytes in a structured field: base64 between colons (RFC 9440, section 2.1; RFC 9651, section 3.3.5). */
const bytesField = /^:([A-Za-z0-9+/]+=*):$/

/** The certificate that a trusted proxy has verified and names in `Client-Cert`, or the one of this connection where it is no proxy's. */
const certificateOf = (
  request: Request,
  isProxy: (address: string) => boolean
): Result.Result<X509Certificate | undefined, GatewayError> => {
  const field = request.headers["client-cert"]
  const proxied = Option.exists(request.remoteAddress, (address) => isProxy(plainAddress(address)))
  if (proxied) {
    if (field === undefined) return Result.succeed(undefined)
    // Node joins headers that come twice, which no longer are such a field.
    const [, text] = bytesField.exec(field) ?? []
    if (text === undefined) return Result.fail(unauthenticated("Client-Cert must be base64 between colons (RFC 9440)"))
    return Result.mapError(parseCertificate(Buffer.from(text, "base64")), (message) => unauthenticated(message))
  }
  const { socket } = NodeHttpServerRequest.toIncomingMessage(request)
  return Result.succeed(socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined)
}

/** Finds who sent a request. Fails with `unauthenticated`, or as `Identity` does. Made once. */
const makeAuthenticate = Effect.gen(function* () {
  const keys = yield* Keys
  const clock = yield* Clock.Clock
  const { bearerKeys, trustedProxies } = yield* Settings
  const identity = yield* Effect.serviceOption(Identity)
  const isProxy = Option.match(trustedProxies, { onNone: () => () => false, onSome: makeIsIn })
  const byKey = (secret: string) => Effect.fromResult(keys.authenticate(secret, clock.currentTimeMillisUnsafe()))

  /** By a token, a certificate or a key in `Authorization`. */
  const withoutApiKey = Effect.fnUntraced(function* (request: Request) {
    if (repeats(request, "authorization")) {
      return yield* unauthenticated("there is more than one header Authorization", "unknown")
    }
    const [, sent] = bearer.exec(request.headers.authorization ?? "") ?? []
    if (Option.isSome(identity)) {
      if (sent !== undefined && isToken(sent)) return yield* identity.value.ofToken(sent)
      const certificate = yield* Effect.fromResult(certificateOf(request, isProxy))
      if (certificate !== undefined) return yield* identity.value.ofCertificate(certificate)
    }
    return yield* byKey(bearerKeys ? (sent ?? "") : "")
  })

  return (request: Request): Effect.Effect<CallerIdentity, GatewayError> => {
    const secret = request.headers["x-api-key"] ?? ""
    // Node joins headers that come twice.
    if (secret !== "") return secret.includes(", ") ? Effect.fail(twoKeys) : byKey(secret)
    if (Option.isSome(identity) || bearerKeys) return withoutApiKey(request)
    return request.headers.authorization === undefined ? byKey("") : Effect.fail(onlyAuthorization)
  }
})

export const auditOf = (
  { id: key_id, why }: NonNullable<GatewayError["refused"]>,
  { id, source, surface }: RequestRecord
): Act => ({
  audit: "caller.refused",
  outcome: "failure",
  actor: { kind: "caller", key_id, source },
  reason: why,
  detail: surface === undefined ? { request_id: id } : { request_id: id, surface }
})

/**
 * Checks who calls, and the caller's requests a minute, before the body is read (docs/api.md#authentication). `errorResponse` makes the
 * endpoint's error.
 */
const makeMiddleware = <E extends ApiError | MessagesError>(errorResponse: (error: GatewayError) => E) =>
  Effect.gen(function* () {
    const authenticate = yield* makeAuthenticate
    const limit = yield* RateLimit
    const audit = yield* Audit
    return <A, E2, R>(handler: Effect.Effect<A, E2, R>): Effect.Effect<A, E | E2, Exclude<R, Caller>> =>
      Effect.withFiber((fiber) => {
        const record = Context.get(fiber.context, CurrentRecord)
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const admitted = Effect.tap(authenticate(request), (caller) => {
          record.caller = caller
          return Effect.map(limit.take(caller), (headers) => {
            record.replyHeaders = headers
          })
        })
        return Effect.matchEffect(admitted, {
          onFailure: (error) => {
            if (error.refused !== undefined) audit(auditOf(error.refused, record))
            return failWith(record, error, errorResponse)
          },
          onSuccess: (caller) => Effect.provideService(handler, Caller, caller)
        })
      })
  })

export const apiKeyLayer = Layer.mergeAll(
  Layer.effect(ApiKey, makeMiddleware(apiError)),
  Layer.effect(MessagesKey, makeMiddleware(messagesError))
)
