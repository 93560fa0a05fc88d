/** Checks of the machine: ports, open files, FIPS. */
import { readFile } from "node:fs/promises"
import { createConnection, createServer } from "node:net"
import { Effect, Option } from "effect"
import { cryptoFacts, describeCrypto } from "../fips.ts"
import type { GatewaySettings } from "../Settings.ts"
import { type Check, type Found, fail, ok, warn } from "./Finding.ts"

/** The error code of listening there, or undefined where it can be done. The port is given back at once. */
const listenError = (host: string, port: number) =>
  Effect.callback<string | undefined>((resume) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error.code ?? error.message)))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resume(Effect.undefined)))
    return Effect.sync(() => void server.close())
  })

const reasons: Readonly<Record<string, string>> = {
  EACCES: "may not be used by this user",
  EADDRNOTAVAIL: "is not of an address of this machine",
  ENOTFOUND: "has a host name that is not known"
}

/** Whether a gateway answers there already: a setup may be looked at while it runs. */
const isGateway = (host: string, port: number, path: string, says: RegExp) => {
  const at = host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host
  return Effect.promise((signal) =>
    fetch(`http://${at}:${port}${path}`, { signal, redirect: "error" })
      .then((response) => response.text())
      .then((text) => says.test(text))
      .catch(() => false)
  ).pipe(Effect.timeoutOrElse({ duration: "1 second", orElse: () => Effect.succeed(false) }))
}

interface Port {
  readonly host: string
  readonly port: number
  readonly setting: string
  /** What a gateway answers there. */
  readonly path: string
  readonly says: RegExp
}

const portLook = Effect.fnUntraced(function* (
  { tlsCert }: GatewaySettings,
  { host, path, port, says, setting }: Port
): Effect.fn.Return<Found> {
  const code = yield* listenError(host, port)
  const where = `${host}:${port}`
  if (code === undefined) return ok(port === 0 ? `${host}: a free port is picked` : `${where} is free`)
  if (code !== "EADDRINUSE") {
    const mend = `Set ${setting} and ${setting.replace("PORT", "HOST")} to a port and an address that can be listened on.`
    return fail(`${where} ${reasons[code] ?? code}`, mend)
  }
  if (yield* isGateway(host, port, path, says)) return ok(`${where}: a gateway is running there`)
  const mend = `Stop what listens there, or set ${setting} to another port.`
  // Asking by TLS would need a caller's certificate.
  return setting === "GATEWAY_PORT" && Option.isSome(tlsCert)
    ? warn(`${where} is taken`, `${mend} If this gateway is running, it is that.`)
    : fail(`${where} is taken`, mend)
})

const health = { path: "/health", says: /"government-model-gateway"/ }
const metrics = { path: "/metrics", says: /^gateway_/m }

export const portsCheck = (settings: GatewaySettings): Check => ({
  name: "ports",
  look: Effect.forEach(
    [
      { host: settings.host, port: settings.port, setting: "GATEWAY_PORT", ...health },
      ...Option.match(settings.metricsPort, {
        onNone: () => [],
        // Each worker has a port of its own for its metrics, counted up from the first.
        onSome: (first) =>
          Array.from({ length: first === 0 ? 1 : Math.min(settings.workers, 64) }, (_, slot) => ({
            host: settings.metricsHost,
            port: first + slot,
            setting: "GATEWAY_METRICS_PORT",
            ...metrics
          }))
      })
    ],
    (port) => portLook(settings, port)
  )
})

/** A request takes a connection of its caller and one to a cloud. */
export const filesLimitCheck = ({ maxInFlight, workers }: GatewaySettings): Check => ({
  name: "open files",
  look: Effect.promise(() => readFile("/proc/self/limits", "utf8").catch(() => "")).pipe(
    Effect.map((text) => {
      // Node raises the soft limit to the hard one when it starts, so this is what the gateway has.
      const limit = /^Max open files\s+(\S+)/m.exec(text)?.[1]
      if (limit === undefined) return ok("this system does not say what the limit is")
      if (limit === "unlimited") return ok("no limit")
      const needed = 2 * Math.ceil(maxInFlight / workers)
      return Number(limit) < needed
        ? warn(
            `${limit} may be open, and GATEWAY_MAX_IN_FLIGHT takes up to ${needed} in each process`,
            `Raise it (ulimit -n ${needed}, or LimitNOFILE), or set GATEWAY_MAX_IN_FLIGHT to ${Math.floor(Number(limit) / 2) * workers}.`
          )
        : ok(`${limit} may be open`)
    })
  )
})

/** `required` is undefined where the settings cannot be read. */
export const fipsCheck = (required: boolean | undefined): Check => ({
  name: "fips",
  look: Effect.sync(() => {
    const facts = cryptoFacts()
    return required === true && !facts.fips
      ? fail(
          `${describeCrypto(facts)}, and GATEWAY_FIPS is required: the start fails`,
          "Name OpenSSL's FIPS module in OPENSSL_CONF and set NODE_OPTIONS=--force-fips: see docs/fips.md."
        )
      : ok(describeCrypto(facts))
  })
})

/** Whether something takes connections there. */
export const connects = (host: string, port: number) =>
  Effect.callback<void, { readonly message: string }>((resume) => {
    const socket = createConnection({ host, port })
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.void)
    })
    socket.once("error", ({ message }) => resume(Effect.fail({ message })))
    return Effect.sync(() => void socket.destroy())
  })
