/**
 * The container's health check: exits with 0 when the gateway answers `/health` with 200. Where clients must have a certificate
 * it has none to show, so a listener that takes the connection is enough there.
 */
import { connect } from "node:net"

const { GATEWAY_PORT, GATEWAY_TLS_CERT, GATEWAY_TLS_CLIENT_CA } = process.env
const port = Number(GATEWAY_PORT || 8080)
const done = (healthy: boolean) => process.exit(healthy ? 0 : 1)
setTimeout(() => done(false), 2500)

if (GATEWAY_TLS_CERT && GATEWAY_TLS_CLIENT_CA) {
  connect({ host: "127.0.0.1", port }, () => done(true)).on("error", () => done(false))
} else {
  const { get } = GATEWAY_TLS_CERT ? await import("node:https") : await import("node:http")
  // On loopback the certificate's name is not this one, and nobody else can listen there.
  get({ host: "127.0.0.1", port, path: "/health", rejectUnauthorized: false }, ({ statusCode }) => {
    done(statusCode === 200)
  }).on("error", () => done(false))
}
