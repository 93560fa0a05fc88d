import { execFileSync } from "node:child_process"
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type ConnectionOptions, connect } from "node:tls"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { startGateway } from "../support/gateway.ts"
import { raw } from "../support/http.ts"
import { serve, until } from "./child.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-tls-"))
const path = (name: string) => join(directory, name)
const text = (name: string) => readFileSync(path(name), "utf8")
const openssl = (...args: ReadonlyArray<string>) => execFileSync("openssl", args, { cwd: directory, stdio: "ignore" })

const authority = (name: string) =>
  openssl(
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"],
    ...["-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.pem`]
  )
const certificate = (name: string, by: string) =>
  openssl(
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"],
    ...["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"],
    ...["-addext", "basicConstraints=critical,CA:FALSE", "-CA", `${by}.pem`, "-CAkey", `${by}.key`],
    ...["-keyout", `${name}.key`, "-out", `${name}.pem`]
  )

beforeAll(() => {
  authority("ca")
  authority("other")
  certificate("server", "ca")
  certificate("renewed", "ca")
  certificate("client", "ca")
  certificate("stranger", "other")
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const settings = (files: { readonly cert: string; readonly key: string; readonly clientCa?: string }) => ({
  GATEWAY_TLS_CERT: path(files.cert),
  GATEWAY_TLS_KEY: path(files.key),
  ...(files.clientCa === undefined ? {} : { GATEWAY_TLS_CLIENT_CA: path(files.clientCa) })
})

/** The status of `/health`. */
const health = (port: number, options: ConnectionOptions = {}) =>
  new Promise<number | undefined>((resolve, reject) => {
    request({ host: "127.0.0.1", port, path: "/health", ca: text("ca.pem"), agent: false, ...options }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on("error", reject)
      .end()
  })

/** The name in the certificate that a new connection is shown. */
const shown = (port: number) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, ca: text("ca.pem") }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    }).on("error", reject)
  })

const failure = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "none",
    (error: unknown) => (error instanceof Error ? `${error.message} ${"code" in error ? String(error.code) : ""}` : "")
  )

/** The headers of `/health`, by TLS. */
const headersOf = (port: number) =>
  new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
    request({ host: "127.0.0.1", port, path: "/health", ca: text("ca.pem"), agent: false }, (response) => {
      response.resume()
      resolve(response.headers)
    })
      .on("error", reject)
      .end()
  })

describe.concurrent("TLS", () => {
  it("is spoken as 1.2 with ECDHE and AES-GCM or as 1.3, over P-256 or P-384, and asks browsers to stay with it", async () => {
    const gateway = await startGateway({ settings: settings({ cert: "server.pem", key: "server.key" }) })
    try {
      const old = { minVersion: "TLSv1.2", maxVersion: "TLSv1.2" } as const
      const now = { minVersion: "TLSv1.3" } as const
      const taken: ReadonlyArray<ConnectionOptions> = [
        { ...old, ciphers: "ECDHE-ECDSA-AES256-GCM-SHA384", ecdhCurve: "P-384:P-256" },
        { ...old, ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256", ecdhCurve: "P-256" },
        { ...now, ecdhCurve: "P-256" },
        { ...now, ecdhCurve: "X25519:P-384" }
      ]
      for (const options of taken) assert.strictEqual(await health(gateway.port, options), 200)
      const refused: ReadonlyArray<ConnectionOptions> = [
        { ...old, ciphers: "ECDHE-ECDSA-CHACHA20-POLY1305" },
        { ...old, ciphers: "ECDHE-ECDSA-AES128-SHA256" },
        { ...old, ecdhCurve: "X25519" },
        { ...now, ciphers: "TLS_CHACHA20_POLY1305_SHA256" },
        { ...now, ecdhCurve: "X25519" },
        { ...now, ecdhCurve: "P-521" },
        { ...now, sigalgs: "ed25519" }
      ]
      for (const options of refused) {
        assert.notStrictEqual(await failure(health(gateway.port, options)), "none", JSON.stringify(options))
      }
      const headers = await headersOf(gateway.port)
      assert.strictEqual(headers["strict-transport-security"], "max-age=31536000")
      assert.strictEqual(headers["cache-control"], "no-store")
    } finally {
      await gateway.stop()
    }
  })

  it("is announced as https, and plain HTTP gets nothing", async () => {
    const gateway = await serve(settings({ cert: "server.pem", key: "server.key" }))
    try {
      assert.match(gateway.url, /^https:/)
      assert.strictEqual(await health(gateway.port), 200)
      assert.notStrictEqual(await failure(fetch(`http://127.0.0.1:${gateway.port}/health`)), "none")
      assert.match(await failure(health(gateway.port, { minVersion: "TLSv1.1", maxVersion: "TLSv1.1" })), /./)
      assert.match(await failure(health(gateway.port, { ca: text("other.pem") })), /certificate|verify/i)
    } finally {
      gateway.kill("SIGTERM")
      assert.strictEqual((await gateway.ended).code, 0)
    }
  })

  it("takes only clients with a certificate of the CA that is given", async () => {
    const log = path("tls.jsonl")
    const gateway = await startGateway({
      settings: { ...settings({ cert: "server.pem", key: "server.key", clientCa: "ca.pem" }), GATEWAY_AUDIT_LOG: log }
    })
    try {
      const as = (name: string) => ({ cert: text(`${name}.pem`), key: text(`${name}.key`) })
      assert.strictEqual(await health(gateway.port, as("client")), 200)
      assert.match(await failure(health(gateway.port)), /ECONNRESET|CERTIFICATE_REQUIRED/)
      assert.notStrictEqual(await failure(health(gateway.port, as("stranger"))), "none")
    } finally {
      await gateway.stop()
    }
    const events = text("tls.jsonl").match(/^.*"tls\.refused".*$/gm) ?? []
    assert.lengthOf(events, 2, events.join("\n"))
    assert.match(events[0] ?? "", /"outcome":"failure".*"source":"127\.0\.0\.1".*PEER_DID_NOT_RETURN_A_CERTIFICATE/)
    assert.match(events[1] ?? "", /VERIFY|CERTIFICATE|CA/)
  })

  it("follows its files while it runs, keeps the certificate in force when they are broken, and keeps connections", async () => {
    copyFileSync(path("server.pem"), path("current.pem"))
    copyFileSync(path("server.key"), path("current.key"))
    const gateway = await startGateway({ settings: settings({ cert: "current.pem", key: "current.key" }) })
    try {
      assert.strictEqual(await shown(gateway.port), "server")
      copyFileSync(path("renewed.key"), path("current.key"))
      await until(() => gateway.logs.some((line) => line.includes("certificate in force stays")), "the complaint")
      assert.strictEqual(await shown(gateway.port), "server")
      copyFileSync(path("renewed.pem"), path("current.pem"))
      await until(async () => (await shown(gateway.port)) === "renewed", "the new certificate")
      assert.strictEqual(await health(gateway.port), 200)
      const complaints = () => gateway.logs.filter((line) => line.includes("certificate in force stays")).length
      assert.strictEqual(complaints(), 1)
      copyFileSync(path("server.key"), path("current.key"))
      await until(() => complaints() === 2, "another complaint")
      copyFileSync(path("renewed.key"), path("current.key"))
      await until(() => gateway.logs.some((line) => line.includes("can be used again")), "the end of the problem")
    } finally {
      await gateway.stop()
    }
  })

  it("lets no connection without a request hold up the end, in whichever part of its handshake", async () => {
    const gateway = await startGateway({
      settings: {
        ...settings({ cert: "server.pem", key: "server.key" }),
        GATEWAY_HEADERS_TIMEOUT: "30 seconds",
        GATEWAY_DRAIN_TIMEOUT: "20 seconds"
      }
    })
    const silent = raw(gateway.port)
    const begun = raw(gateway.port)
    begun.write(Buffer.from([22, 3, 1, 2, 0, 1]))
    const done = connect({ host: "127.0.0.1", port: gateway.port, ca: text("ca.pem") })
    await new Promise((resolve) => done.on("error", () => {}).once("secureConnect", resolve))
    // The server takes connections in their order.
    assert.strictEqual(await health(gateway.port), 200)
    const startedAt = Date.now()
    await gateway.stop()
    assert.isBelow(Date.now() - startedAt, 3000)
    await silent.closed()
    await begun.closed()
  })

  it("refuses to start with half of what it needs, and says what", async () => {
    const refusal = (files: Readonly<Record<string, string>>) =>
      failure(startGateway({ settings: files }).then((gateway) => gateway.stop()))
    const both = settings({ cert: "server.pem", key: "server.key" })
    assert.include(await refusal({ GATEWAY_TLS_CERT: both.GATEWAY_TLS_CERT }), "GATEWAY_TLS_KEY is not set")
    assert.include(await refusal({ GATEWAY_TLS_CLIENT_CA: path("ca.pem") }), "GATEWAY_TLS_CERT is not set")
    const missing = await refusal({ ...both, GATEWAY_TLS_CERT: path("no.pem") })
    assert.include(missing, `GATEWAY_TLS_CERT: cannot read ${path("no.pem")} (there is no such file)`)
    assert.include(await refusal({ ...both, GATEWAY_TLS_KEY: path("client.key") }), "and the key the certificate's")
    assert.include(await refusal({ ...both, GATEWAY_TLS_CERT: path("server.key") }), "must be PEM files")
    const [whole, cut] = [text("ca.pem"), path("cut.pem")]
    writeFileSync(cut, whole + whole.slice(0, -100))
    assert.include(await refusal({ ...both, GATEWAY_TLS_CLIENT_CA: cut }), "must be PEM files")
    // Without an authority every caller would be refused.
    assert.include(await refusal({ ...both, GATEWAY_TLS_CLIENT_CA: path("server.key") }), "it has no certificate")
  })
})
