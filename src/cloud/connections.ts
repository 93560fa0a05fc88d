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

const direct = (client?: ClientCertificate) =>
  new Undici.Agent({
    ...options,
    connect: Undici.buildConnector({ timeout, allowH2: false, ...buffered, ...tlsPolicy, ...client })
  })

/** Through a tunnel (CONNECT), so that the proxy sees the host's name and nothing of the text. */
class Proxied extends Undici.Dispatcher {
  private readonly own: Undici.Dispatcher
  private readonly tunnel: Undici.ProxyAgent

  constructor(uri: string, client?: ClientCertificate) {
    super()
    this.own = direct(client)
    this.tunnel = new Undici.ProxyAgent({
      ...options,
      uri,
      requestTls: { timeout, ...tlsPolicy, ...client },
      proxyTls: { timeout, ...tlsPolicy },
      clientFactory: (origin, own) => new Undici.Pool(origin, { ...own, headersTimeout: timeout })
    })
  }

  override dispatch(call: Undici.Dispatcher.DispatchOptions, handler: Undici.Dispatcher.DispatchHandler): boolean {
    // Loopback is this machine, which no proxy reaches.
    const way = isLoopback(hostOf(String(call.origin))) ? this.own : this.tunnel
    return way.dispatch(call, handler)
  }

  override async destroy(): Promise<void> {
    await Promise.all([this.own.destroy(), this.tunnel.destroy()])
  }
}

/** By the operator's proxy (`GATEWAY_HTTPS_PROXY`), or by none; until the scope closes. A proxy is shown no certificate. */
export const connect = (client?: ClientCertificate) =>
  Effect.flatMap(Settings, ({ httpsProxy }) =>
    Effect.acquireRelease(
      Effect.sync(() =>
        Option.match(httpsProxy, {
          onNone: () => direct(client),
          onSome: (url) => new Proxied(Redacted.value(url), client)
        })
      ),
      (dispatcher) => Effect.promise(() => dispatcher.destroy())
    )
  )

export const connections = Layer.effect(Dispatcher, connect())
