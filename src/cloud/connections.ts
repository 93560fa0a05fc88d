/**
 * The connections to the clouds: five seconds to connect, no response of more than 32 KiB of headers. HTTP/1.1 only: where HTTP/2
 * is allowed, undici lets all requests wait for the first handshake, so that one that hangs holds up the rest.
 */
import { Dispatcher } from "@effect/platform-node/NodeHttpClient"
import Undici from "@effect/platform-node/Undici"
import { Effect, Layer, Option, Redacted } from "effect"
import { Settings } from "../Settings.ts"
import { hostOf, isLoopback } from "../settings/fields.ts"
import { tlsPolicy } from "../tlsPolicy.ts"

const timeout = 5_000

const options: Undici.Agent.Options = {
  // Admitted requests are sent immediately: a limit here would be a queue without a metric.
  connections: null,
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: 30_000,
  maxHeaderSize: 32 * 1024
}

/** As TLS has it anyway. What a socket has read and its reader has not taken is memory that a slow reader holds. undici's types lack it. */
const buffered = { highWaterMark: 16 * 1024 }

/** What the gateway shows of itself to a server that asks, in PEM. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: string
}

const acquire = <A extends Undici.Dispatcher>(make: () => A) =>
  Effect.acquireRelease(Effect.sync(make), (dispatcher) => Effect.promise(() => dispatcher.destroy()))

/** By the operator's proxy (`GATEWAY_HTTPS_PROXY`), or by none; until the scope closes. A proxy is shown no certificate. */
export const connect = Effect.fnUntraced(function* (client?: ClientCertificate) {
  const { httpsProxy } = yield* Settings
  const tls = { timeout, ...tlsPolicy, ...client }
  const direct = yield* acquire(
    () => new Undici.Agent({ ...options, connect: Undici.buildConnector({ allowH2: false, ...buffered, ...tls }) })
  )
  if (Option.isNone(httpsProxy)) return direct
  // Through a tunnel (CONNECT), so that the proxy sees the host's name and nothing of the text.
  const tunnel = yield* acquire(
    () =>
      new Undici.ProxyAgent({
        ...options,
        uri: Redacted.value(httpsProxy.value),
        requestTls: tls,
        proxyTls: { timeout, ...tlsPolicy },
        clientFactory: (origin, own) => new Undici.Pool(origin, { ...own, headersTimeout: timeout })
      })
  )
  // Loopback is this machine, which no proxy reaches.
  return tunnel.compose((dispatch) => (call, handler) => {
    const isHere = isLoopback(hostOf(String(call.origin)))
    return isHere ? direct.dispatch(call, handler) : dispatch(call, handler)
  })
})

export const connections = Layer.effect(Dispatcher, connect())
