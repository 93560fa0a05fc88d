/**
 * What an assessor asks for of this setup (docs/compliance/README.md), as JSON: what is in force by digest, TLS, FIPS, clouds and
 * what each serves, keys by age, the chain of records, versions. Never a secret: of settings that hold one only the name is used.
 */
import { hash, X509Certificate } from "node:crypto"
import { DateTime, Effect, Option, Result } from "effect"
import { catalogSource, loadCatalog } from "../../catalog/CatalogStore.ts"
import { formatBoundary } from "../../catalog/Level.ts"
import { requestable } from "../../catalog/Resolver.ts"
import { version } from "../../contract/version.ts"
import { cryptoFacts } from "../../fips.ts"
import { isOver, type Key, readBook } from "../../limits/KeyFile.ts"
import { readRegular } from "../../regularFile.ts"
import { type Environment, type GatewaySettings, load } from "../../Settings.ts"
import { addressesOf, declarationsOf, sitesOf } from "../../settings/addresses.ts"
import type { CloudSettings } from "../../settings/clouds.ts"
import { tlsPolicy } from "../../tlsPolicy.ts"
import { settingNames } from "../../unknownSettings.ts"
import { makeChainChecking } from "../usage/chainCheck.ts"
import { checkFiles, readFiles } from "../usage/readFiles.ts"
import { examine } from "./examine.ts"

/** Settings that hold, or may hold, a password or token. */
const secret = /^(GATEWAY_REDIS_URL|GATEWAY_HTTPS_PROXY|AWS_.*|.*_(TOKEN|SECRET|API_KEY))$/

const day = 86_400_000

/** Names and values, so that two machines with the same settings have the same digest; of a secret the name. */
const settingsInForce = (environment: Environment) => {
  const names = [...settingNames()].filter((name) => (environment[name] ?? "") !== "").sort()
  const lines = names.map((name) => (secret.test(name) ? name : `${name}=${environment[name]}`))
  return { set: names, sha256: hash("sha256", lines.join("\n"), "hex") }
}

const catalogInForce = Effect.fnUntraced(function* (settings: GatewaySettings, clouds: CloudSettings) {
  const catalog = yield* loadCatalog(settings)
  const { leftOut, list } = requestable(catalog, sitesOf(clouds))
  const served = (cloud: string) => [
    ...new Set(list.filter(({ deployment }) => deployment.cloud === cloud).map(({ level }) => level))
  ]
  return {
    catalog: {
      source: catalogSource(settings),
      sha256: hash("sha256", JSON.stringify(catalog), "hex"),
      models: catalog.models.length,
      ids: list.length,
      left_out: leftOut.length
    },
    clouds: addressesOf(clouds).map(({ cloud, declared, region, url }) => ({
      cloud,
      region,
      address: url ?? "the cloud's own",
      ...(declared === undefined ? {} : { declared: formatBoundary(declared) }),
      serves: served(cloud)
    })),
    declared: Object.fromEntries(declarationsOf(clouds).map(({ serves, setting }) => [setting, serves]))
  }
})

const tlsInForce = Effect.fnUntraced(function* ({ plainHttp, tlsCert, tlsClientCa }: GatewaySettings, now: number) {
  const policy = {
    versions: ["1.2", "1.3"],
    suites: tlsPolicy.ciphers.split(":"),
    curves: tlsPolicy.ecdhCurve.split(":")
  }
  if (Option.isNone(tlsCert)) return { listener: "off", plain_http_allowed: plainHttp, policy }
  const { bytes } = yield* readRegular(tlsCert.value)
  const { fingerprint256, issuer, subject, validToDate } = new X509Certificate(bytes)
  return {
    listener: "on",
    certificate: {
      subject,
      issuer,
      sha256: fingerprint256.replaceAll(":", "").toLowerCase(),
      expires: validToDate.toISOString(),
      days_left: Math.floor((validToDate.getTime() - now) / day)
    },
    client_certificates: Option.isSome(tlsClientCa),
    policy
  }
})

/** The last days of each group. */
const ages = { "30 days": 30, "90 days": 90, "365 days": 365 }

const keysInForce = Effect.fnUntraced(function* ({ keysFile }: GatewaySettings, now: number) {
  const { keys, teams } = yield* readBook(keysFile)
  const working = keys.filter((key) => !isOver(key, now))
  const age = ({ created }: Key) => (now - DateTime.toEpochMillis(created)) / day
  const upTo = (days: number) => working.filter((key) => age(key) <= days).length
  return {
    file: keysFile,
    all: keys.length,
    revoked: keys.filter(({ revoked }) => revoked !== undefined).length,
    working: working.length,
    without_end: working.filter(({ expires }) => expires === undefined).length,
    without_limit_of_levels: working.filter(({ levels }) => levels === undefined).length,
    /** How many are not older. */
    working_by_age: Object.fromEntries(Object.entries(ages).map(([name, days]) => [name, upTo(days)])),
    oldest_days: Math.floor(Math.max(0, ...working.map(age))),
    teams: teams.length
  }
})

/** The chain as it is now: reads the whole file. */
const recordsInForce = Effect.fnUntraced(function* ({ usageLog }: GatewaySettings, now: string) {
  if (usageLog === "stdout") return { log: "standard output", verified: null }
  const { files, once } = yield* checkFiles([usageLog])
  const checking = makeChainChecking((file) => once.has(file))
  // A pipe would be taken from its reader.
  if (files.some((file) => once.has(file))) return { log: usageLog, verified: null }
  yield* readFiles(files, { line: checking.add, damage: checking.damage })
  const { breaks, open, records } = checking.result()
  return { log: usageLog, verified: { at: now, records, breaks, open: open.length, ok: breaks === 0 } }
})

/** What cannot be read says why in its place. */
const orProblem = <A, E extends { readonly message: string }, R>(part: Effect.Effect<A, E, R>) =>
  Effect.catch(part, ({ message }) => Effect.succeed({ problem: message }))

export const evidence = Effect.fnUntraced(function* (environment: Environment) {
  const { clouds, gateway } = yield* load(environment)
  const now = yield* DateTime.now
  const at = DateTime.formatIso(now)
  const millis = DateTime.toEpochMillis(now)
  const catalog = yield* Effect.result(catalogInForce(gateway, clouds))
  return {
    at,
    versions: { gateway: version, node: process.version, platform: `${process.platform}-${process.arch}` },
    settings: settingsInForce(environment),
    ...(Result.isSuccess(catalog) ? catalog.success : { catalog: { problem: catalog.failure.message } }),
    tls: yield* orProblem(tlsInForce(gateway, millis)),
    crypto: { ...cryptoFacts(), required: gateway.fips === "required" },
    keys: yield* orProblem(keysInForce(gateway, millis)),
    records: yield* orProblem(recordsInForce(gateway, at)),
    findings: yield* examine(environment, false)
  }
})
