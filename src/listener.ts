/** How connections are taken: Node's server with its limits, in TLS when a certificate is given. */
import { hash } from "node:crypto"
import type { Server } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { SecureContextOptions } from "node:tls"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer, Option } from "effect"
import { Audit } from "./audit/Audit.ts"
import { Drain } from "./http/Drain.ts"
import { checkTlsTexts, endsIn } from "./identity/certificate.ts"
import { listenError } from "./listenError.ts"
import { createServer } from "./nodeHttp.ts"
import { readRegularText } from "./regularFile.ts"
import type { GatewaySettings } from "./Settings.ts"
import { closeUnsecured, drainOpenReplies, guardSockets } from "./sockets.ts"
import { tlsPolicy } from "./tlsPolicy.ts"
import { watchFile } from "./watchFile.ts"
import { fail, rephrase } from "./wire/OperatorError.ts"

type TlsSettings = Pick<GatewaySettings, "tlsCert" | "tlsKey" | "tlsClientCa">

/** The files that the settings name, or undefined without TLS. */
const tlsFiles = Effect.fnUntraced(function* ({ tlsCert, tlsKey, tlsClientCa }: TlsSettings) {
  if (Option.isNone(tlsCert) && Option.isNone(tlsKey) && Option.isNone(tlsClientCa)) return undefined
  if (Option.isNone(tlsCert) || Option.isNone(tlsKey)) {
    return yield* fail(
      `TLS needs GATEWAY_TLS_CERT and GATEWAY_TLS_KEY; ${Option.isNone(tlsCert) ? "GATEWAY_TLS_CERT" : "GATEWAY_TLS_KEY"} is not set. Set both, or none of the GATEWAY_TLS_ settings`
    )
  }
  return { cert: tlsCert.value, key: tlsKey.value, clientCa: Option.getOrUndefined(tlsClientCa) }
})

type TlsFiles = NonNullable<Effect.Success<ReturnType<typeof tlsFiles>>>

const readTls = Effect.fnUntraced(function* ({ cert, key, clientCa }: TlsFiles) {
  const read = (name: string, file: string) =>
    rephrase(readRegularText(file), (why) => `${name}: cannot read ${file} (${why})`)
  const options: SecureContextOptions = {
    cert: yield* read("GATEWAY_TLS_CERT", cert),
    key: yield* read("GATEWAY_TLS_KEY", key),
    ...(clientCa === undefined ? {} : { ca: yield* read("GATEWAY_TLS_CLIENT_CA", clientCa) }),
    ...tlsPolicy,
    honorCipherOrder: true
  }
  return options
})

/** Fails where the texts are no certificates, or the key another's. */
const checkTls = (options: SecureContextOptions) =>
  rephrase(
    checkTlsTexts(options),
    (why) =>
      `GATEWAY_TLS_CERT, GATEWAY_TLS_KEY and GATEWAY_TLS_CLIENT_CA must be PEM files, and the key the certificate's (${why})`
  )

/** The files that TLS is made from, once they have been read and fit each other; undefined without TLS. */
export const checkTlsFiles = Effect.fnUntraced(function* (settings: TlsSettings) {
  const files = yield* tlsFiles(settings)
  if (files !== undefined) yield* checkTls(yield* readTls(files))
  return files
})

/**
 * Node's defaults, reviewed: headers within `GATEWAY_HEADERS_TIMEOUT`, and so a TLS handshake; a whole request within that
 * and the body's time, for bodies that no handler reads; idle connections kept for 65 s, longer than load balancers keep
 * theirs; at most 32 KiB and 200 headers. The check runs every second, so that the limits hold to the second.
 */
const limits = (settings: GatewaySettings) => {
  const headersTimeout = Duration.toMillis(settings.headersTimeout)
  return {
    headersTimeout,
    handshakeTimeout: headersTimeout,
    requestTimeout: headersTimeout + Duration.toMillis(settings.bodyTimeout) + 5_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 32 * 1024,
    connectionsCheckingInterval: 1_000,
    noDelay: true,
    // What a caller that reads slowly leaves in memory, beside the system's own buffers: as much as one read of a cloud's connection.
    highWaterMark: 64 * 1024,
    // The request middleware refuses a request without one, in JSON and with an ID.
    requireHostHeader: false,
    // Served as if it had not asked for one, as the last request of its connection (`sockets.ts`).
    shouldUpgradeCallback: () => false
  }
}

/** Between the end of requests, when they have had their time, and that of connections whose callers do not take it. */
const lastCall = Duration.seconds(2)

/** The server, whose certificate follows its files as long as the scope lives. */
const makeServer = Effect.fnUntraced(function* (settings: GatewaySettings) {
  const files = yield* tlsFiles(settings)
  const audit = yield* Audit
  const prepare = <S extends Server>(server: S): S => {
    server.maxHeadersCount = 200
    const connected = files === undefined ? "connection" : "secureConnection"
    drainOpenReplies(server, guardSockets(server, connected), {
      drain: Duration.toMillis(settings.drainTimeout),
      headers: Duration.toMillis(settings.headersTimeout),
      most: Duration.toMillis(settings.requestCeiling)
    })
    // Node would refuse it without a body and an ID.
    server.on("checkExpectation", (request, response) => server.emit("request", request, response))
    return server
  }
  if (files === undefined) return prepare(createServer(limits(settings)))

  const tls = yield* readTls(files)
  yield* checkTls(tls)
  const clients = files.clientCa !== undefined
  const server = prepare(
    createTlsServer({ ...limits(settings), ...tls, requestCert: clients, rejectUnauthorized: clients })
  )
  closeUnsecured(server)
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
    // Node ends a connection whose certificate it does not trust, and then reports the end.
    const reason = String(socket.authorizationError ?? error.code ?? "unknown")
    // A connection that is opened and closed, as load balancers do to see whether there is a listener.
    if (reason === "ECONNRESET") return
    const actor = { kind: "caller", source: socket.remoteAddress } as const
    audit({ audit: "tls.refused", outcome: "failure", actor, reason })
  })
  yield* watchFile({
    kind: "certificate",
    path: files.cert,
    version: ({ ca, cert, key }) => [cert, key, ca].join("\n"),
    digests: ({ ca, cert }) =>
      new Map([
        [files.cert, hash("sha256", String(cert))],
        ...(files.clientCa === undefined ? [] : [[files.clientCa, hash("sha256", String(ca))] as const])
      ]),
    ends: ({ ca = "", cert }) => ({
      certificate: endsIn(String(cert)).map((end) => [end]),
      "client-ca": [endsIn(String(ca))]
    }),
    read: readTls(files),
    initial: tls,
    every: "1 second",
    take: Effect.fnUntraced(function* (latest) {
      yield* checkTls(latest)
      server.setSecureContext(latest)
      yield* Effect.logInfo("TLS certificate read again; new connections get it")
    }),
    complaint: (message) => `${message}. The certificate in force stays.`
  })
  return server
})

/** Ends the connections that are still open after the end of requests. */
const cutOff = Effect.fnUntraced(function* (server: Server) {
  const { onExpired } = yield* Drain
  const expired = Effect.callback<void>((resume) => {
    const stop = onExpired(() => resume(Effect.void))
    return Effect.sync(stop)
  })
  yield* expired.pipe(
    Effect.andThen(Effect.sleep(lastCall)),
    Effect.andThen(Effect.sync(() => server.closeAllConnections())),
    Effect.forkScoped
  )
})

/** Listens until the scope closes; then it takes no more connections and waits for the requests in flight. */
export const listenerLayer = (settings: GatewaySettings) =>
  Layer.unwrap(
    Effect.map(Effect.tap(makeServer(settings), cutOff), (server) =>
      NodeHttpServer.layerServer(() => server, {
        host: settings.host,
        port: settings.port,
        // Callers that connect at the same time wait here; the system may allow fewer.
        backlog: 4096,
        // Requests are ended when their time is over; this is for those that then do not end.
        gracefulShutdownTimeout: Duration.sum(settings.drainTimeout, lastCall)
      })
    )
  ).pipe(
    Layer.catchTag("ServeError", ({ cause }) =>
      Layer.effectContext(Effect.fail(listenError("GATEWAY_PORT", settings, cause)))
    )
  )
