/**
 * What an assessor asks for of this setup (docs/compliance/README.md), as JSON: what is in force by digest, TLS, FIPS, clouds and
 * what each serves, keys by age, the chains of records, versions. Never a secret.
 */
import { hash } from "node:crypto"
import { Array as Arr, DateTime, Effect, Option, Record, Result } from "effect"
import type { Catalog } from "../../catalog/Catalog.ts"
import { catalogSource } from "../../catalog/CatalogStore.ts"
import { formatBoundary } from "../../catalog/Level.ts"
import partition from "../../catalog/partition.json" with { type: "json" }
import { requestable } from "../../catalog/Resolver.ts"
import { cloudsOf, originOf } from "../../cloud/Providers.ts"
import { version } from "../../contract/version.ts"
import { cryptoFacts } from "../../fips.ts"
import { fieldsOf, readCertificates } from "../../identity/certificate.ts"
import { isOver, type Key, readBook } from "../../limits/KeyFile.ts"
import { readSigner } from "../../limits/usageChain.ts"
import { readRegular } from "../../regularFile.ts"
import { docsOf, type Environment, type GatewaySettings, load, settingsDigest } from "../../Settings.ts"
import { addressesOf, type CloudSettings, declarationsOf, sitesOf } from "../../settings/clouds.ts"
import { tlsPolicy } from "../../tlsPolicy.ts"
import { settingsIn } from "../../unknownSettings.ts"
import { makeChainChecking } from "../usage/chainCheck.ts"
import { checkFiles, readFiles } from "../usage/readFiles.ts"
import { checkSetup, setupOf } from "./examine.ts"

const day = 86_400_000

const sha256 = (value: unknown): string => hash("sha256", JSON.stringify(value), "hex")

const catalogInForce = (settings: GatewaySettings, clouds: CloudSettings, catalog: Catalog) => {
  const { leftOut, list } = requestable(catalog, sitesOf(clouds))
  // FIPS endpoints show by their names.
  const origins = new Map<string, string>(cloudsOf(clouds).map((cloud) => [cloud.name, originOf(cloud)]))
  const served = (cloud: string) =>
    Arr.dedupe(list.filter(({ deployment }) => deployment.cloud === cloud).map(({ level }) => level))
  return {
    catalog: {
      source: catalogSource(settings),
      sha256: sha256(catalog),
      models: catalog.models.length,
      ids: list.length,
      left_out: leftOut.length
    },
    partition: { sha256: sha256(partition) },
    clouds: addressesOf(clouds).map(({ cloud, declared, region }) => ({
      cloud: clouds.simulated ? `sandbox-${cloud}` : cloud,
      region,
      address: clouds.simulated ? "simulated on this machine" : origins.get(cloud),
      ...(declared === undefined ? {} : { declared: formatBoundary(declared) }),
      serves: served(cloud)
    })),
    declared: Object.fromEntries(declarationsOf(clouds).map(({ serves, setting }) => [setting, serves]))
  }
}

const tlsInForce = Effect.fnUntraced(function* ({ plainHttp, tlsCert, tlsClientCa }: GatewaySettings, now: number) {
  const policy = {
    versions: ["1.2", "1.3"],
    suites: tlsPolicy.ciphers.split(":"),
    curves: tlsPolicy.ecdhCurve.split(":")
  }
  if (Option.isNone(tlsCert)) return { listener: "off", plain_http_allowed: plainHttp, policy }
  const [certificate] = yield* readCertificates(tlsCert.value)
  const { fingerprint256, validToDate } = certificate
  const { issuer, subject } = fieldsOf(certificate)
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
    working_by_age: Record.map({ "30 days": 30, "90 days": 90, "365 days": 365 }, upTo),
    oldest_days: Math.floor(working.reduce((most, key) => Math.max(most, age(key)), 0)),
    teams: teams.length
  }
})

/** The chains of a log as they are now: reads the whole file. */
const chainsInForce = Effect.fnUntraced(function* (log: string, now: string) {
  if (log === "stdout") return { log: "standard output", verified: null }
  const { files, once } = yield* checkFiles([log])
  // A pipe would be taken from its reader.
  if (files.some((file) => once.has(file))) return { log, verified: null }
  const { breaks, open, records } = yield* readFiles(
    files,
    makeChainChecking(() => false)
  )
  return { log, verified: { at: now, records, breaks, open: open.length, ok: breaks === 0 } }
})

/** What cannot be read says why in its place. */
const orProblem = <A, E extends { readonly message: string }, R>(part: Effect.Effect<A, E, R>) =>
  Effect.catch(part, ({ message }) => Effect.succeed({ problem: message }))

/** Audit events may be in the file of the usage records. */
const recordsInForce = Effect.fnUntraced(function* (settings: GatewaySettings, now: string) {
  const { auditLog, recordSigningKey, usageLog } = settings
  const audit = Option.getOrUndefined(auditLog)
  const signer = Option.isSome(recordSigningKey) ? yield* orProblem(readSigner(recordSigningKey.value)) : undefined
  return {
    usage: yield* orProblem(chainsInForce(usageLog, now)),
    audit: audit === undefined || audit === usageLog ? (audit ?? null) : yield* orProblem(chainsInForce(audit, now)),
    signed_by: signer === undefined || "problem" in signer ? (signer ?? null) : signer.key
  }
})

/** Files that decide who may call and what is seen of it: by what is in them now. */
const filesInForce = ({ guardsFile, identityFile, noticeFile }: GatewaySettings) => {
  const named = Record.getSomes({
    GATEWAY_GUARDS_FILE: guardsFile,
    GATEWAY_IDENTITY_FILE: identityFile,
    GATEWAY_NOTICE_FILE: noticeFile
  })
  const digestOf = (file: string) =>
    orProblem(Effect.map(readRegular(file), ({ bytes }) => ({ sha256: hash("sha256", bytes, "hex") })))
  return Effect.all(Record.map(named, (file) => Effect.map(digestOf(file), (found) => ({ file, ...found }))))
}

export const evidence = Effect.fnUntraced(function* (environment: Environment) {
  const now = yield* DateTime.now
  const at = DateTime.formatIso(now)
  const millis = DateTime.toEpochMillis(now)
  const setup = yield* setupOf(yield* load(environment))
  const { catalog, clouds, configured, gateway, sandbox } = setup
  return {
    at,
    versions: { gateway: version, node: process.version, platform: `${process.platform}-${process.arch}` },
    sandbox,
    listens: {
      callers: `${gateway.host}:${gateway.port}`,
      metrics: Option.match(gateway.metricsPort, {
        onNone: () => "off",
        onSome: (port) => `${gateway.metricsHost}:${port}`
      }),
      docs: docsOf(gateway, sandbox)
    },
    settings: {
      set: settingsIn(environment),
      // That of the audit event `gateway.started`, where one process serves: workers have shares of some limits.
      sha256: settingsDigest({ settings: gateway, clouds: { ...configured, simulated: sandbox } })
    },
    files: yield* filesInForce(gateway),
    ...(Result.isSuccess(catalog)
      ? catalogInForce(gateway, clouds, catalog.success)
      : { catalog: { problem: catalog.failure.message } }),
    tls: yield* orProblem(tlsInForce(gateway, millis)),
    crypto: { ...cryptoFacts(), required: gateway.fips === "required" },
    keys: yield* orProblem(keysInForce(gateway, millis)),
    records: yield* recordsInForce(gateway, at),
    findings: yield* checkSetup(environment, setup, false)
  }
}, Effect.scoped)
