/**
 * Checks of files: keys, certificates, where records and counts are written, and those that a gateway has only where a setting
 * names them. A file that is broken fails the start.
 */
import type { X509Certificate } from "node:crypto"
import { constants } from "node:fs"
import { access, open, rm, stat, statfs, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { Clock, Effect, Option, Result } from "effect"
import { levels } from "../../catalog/names.ts"
import { type GuardSettings, levelsOf, readGuards } from "../../guards/GuardsFile.ts"
import { type Authority, fieldsOf, isInTime, listsEnd, readCertificates } from "../../identity/certificate.ts"
import { isUrl, readIdentity } from "../../identity/IdentityFile.ts"
import { trustOf } from "../../identity/identityLayer.ts"
import { fetchKeys, type IssuerKeys } from "../../identity/token.ts"
import { isWritableByOthers, octalMode, readIfExists, writeProblem } from "../../limits/files.ts"
import { isOver, type KeyBook, parseBook } from "../../limits/KeyFile.ts"
import { readSigner } from "../../limits/usageChain.ts"
import { checkTlsFiles } from "../../listener.ts"
import { refusePlainHttp } from "../../plainHttp.ts"
import type { GatewaySettings } from "../../Settings.ts"
import { isLoopback } from "../../settings/fields.ts"
import { readNotice } from "../../settings/notice.ts"
import { plural } from "../../wire/plural.ts"
import { type Found, fail, ok, orStartFails, warn } from "./Finding.ts"

const attempt = <A>(promise: () => Promise<A>) =>
  Effect.tryPromise({ try: promise, catch: (cause) => ({ message: writeProblem(cause) }) })

/** What others may do with a file: those who can change the key file can give themselves a key. */
const modeFound = Effect.fnUntraced(function* (file: string, mayChange: typeof fail) {
  const { mode } = yield* attempt(() => stat(file))
  const changed = isWritableByOthers(mode)
  // Some systems have no modes.
  if (process.platform === "win32" || (!changed && (mode & 0o004) === 0)) return []
  const found = changed ? mayChange : warn
  return [found(`${file}: others may ${changed ? "change" : "read"} it (mode ${octalMode(mode)})`, `chmod 600 ${file}`)]
})

/** Keys and teams with a limit on cost may not use what has no price. `prices`: of each ID that is served. */
const pricesFound = ({ keys, teams }: KeyBook, prices: ReadonlyArray<unknown>) => {
  const limited = [...keys.filter(({ revoked }) => revoked === undefined), ...teams].filter(
    (one) => one.dailyCost !== undefined || one.monthlyCost !== undefined
  )
  const without = prices.filter((price) => price === undefined).length
  if (limited.length === 0 || without === 0) return []
  const names = limited.map(({ name }) => name).join(", ")
  return [
    warn(
      `${names}: with a limit on cost, and ${without} of ${prices.length} IDs have no price, which refuses them (403)`,
      "Give them prices, in a catalog or an overlay: docs/operation.md#prices."
    )
  ]
}

export const keysFound = Effect.fnUntraced(function* (
  { keysFile }: GatewaySettings,
  sandbox: boolean,
  prices: ReadonlyArray<unknown>
) {
  const create = "Create a key: npm run gateway -- keys create --name NAME"
  const text = yield* readIfExists(keysFile)
  if (text === undefined) {
    return sandbox
      ? ok(`the sandbox takes sandbox-key; ${keysFile} does not exist`)
      : warn(`${keysFile} does not exist: no caller has a key`, create)
  }
  const book = yield* parseBook(keysFile, text)
  const { keys } = book
  const now = yield* Clock.currentTimeMillis
  const { length } = keys.filter((key) => !isOver(key, now))
  return [
    length === 0
      ? warn(`${keysFile}: none of ${keys.length} keys works`, create)
      : ok(`${keysFile}: ${length} of ${keys.length} keys work`),
    ...pricesFound(book, prices),
    ...(yield* modeFound(keysFile, fail))
  ]
})

/** Days before a certificate ends from which it is reported. */
const soon = 30
const day = 86_400_000

const titleOf = (file: string, certificate: X509Certificate) =>
  `${file} (${fieldsOf(certificate).subject || "no subject"})`

const renew =
  "Renew it, or take it out where nothing needs it. Files of TLS, identity and guards are read again without a restart."

const certificateFound = (file: string, certificate: X509Certificate, now: number, unusable = fail): Found => {
  const { validFromDate, validToDate } = certificate
  const name = titleOf(file, certificate)
  const date = validToDate.toISOString().slice(0, 10)
  const left = validToDate.getTime() - now
  if (left <= 0) return unusable(`${name} expired on ${date}`, renew)
  if (validFromDate.getTime() > now) {
    return unusable(`${name} is not valid yet`, "Check the clock of this machine, and the certificate.")
  }
  return left < soon * day
    ? warn(`${name} expires on ${date}, in ${count(Math.ceil(left / day), "day")}`, renew)
    : ok(`${name} is valid until ${date}`)
}

/** A certificate and those of the authorities between, all of which are needed, and who may read its key. */
export const chainFound = Effect.fnUntraced(function* (cert: string, key?: string) {
  const chain = yield* readCertificates(cert)
  const now = yield* Clock.currentTimeMillis
  const found = chain.map((certificate) => certificateFound(cert, certificate, now))
  return key === undefined ? found : [...found, ...(yield* modeFound(key, warn))]
})

/**
 * Certificates of authorities, of which one in force is enough: the last that ends; for the callers' the next, because each may have
 * issued some of theirs.
 */
export const bundleFound = Effect.fnUntraced(function* (file: string, which: "last" | "next" = "last") {
  const all = yield* readCertificates(file)
  const now = yield* Clock.currentTimeMillis
  const inForce = all
    .filter((one) => isInTime(one, now))
    .sort((one, other) => one.validToDate.getTime() - other.validToDate.getTime())
  const name = all.length === 1 ? file : `${file}: of ${all.length} certificates the ${which}`
  return certificateFound(name, inForce.at(which === "next" ? 0 : -1) ?? all[0], now)
})

const plainFound = (settings: GatewaySettings) =>
  refusePlainHttp(settings).pipe(
    Effect.as(
      isLoopback(settings.host)
        ? ok(`off: only this machine reaches ${settings.host}`)
        : ok("off: GATEWAY_PLAIN_HTTP is set, so a proxy in front of the gateway ends TLS")
    ),
    orStartFails("Set GATEWAY_TLS_CERT and GATEWAY_TLS_KEY; docs/fips.md#tls has the versions.")
  )

export const tlsFound = Effect.fnUntraced(function* (settings: GatewaySettings) {
  const files = yield* checkTlsFiles(settings)
  if (files === undefined) return yield* plainFound(settings)
  const clients = files.clientCa === undefined ? [] : [yield* bundleFound(files.clientCa, "next")]
  return [...(yield* chainFound(files.cert, files.key)), ...clients]
})

const mebibyte = 1024 ** 2
/** Free space below which records are in danger, in MiB. */
const little = 1024
const veryLittle = 100

const exists = (path: string) => Effect.isSuccess(attempt(() => access(path)))

/** The directory, or the nearest one above it that is there. */
const existing = (directory: string): Effect.Effect<string> =>
  Effect.flatMap(exists(directory), (found) =>
    found || dirname(directory) === directory ? Effect.succeed(directory) : existing(dirname(directory))
  )

/** Only a write shows what a disk refuses: it is full, over its quota, read-only or broken. */
const tryWriting = (directory: string) =>
  attempt(async () => {
    const path = join(directory, `.gateway-doctor-${crypto.randomUUID()}`)
    try {
      await writeFile(path, Buffer.alloc(4096), { flag: "wx", mode: 0o600, flush: true })
    } finally {
      await rm(path, { force: true })
    }
  })

/** Appends nothing to what is there: a file, or a pipe or device, which has no space of its own. */
const tryAppending = (file: string) =>
  attempt(async () => {
    const handle = await open(file, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK)
    try {
      await handle.write("")
      return (await handle.stat()).isFile()
    } finally {
      await handle.close()
    }
  })

const unwritable = (path: string, reason: string, setting: string) =>
  fail(
    `${path} cannot be written (${reason})`,
    `Make room there and give this user the right to write, or set ${setting} to another place.`
  )

/** Whether a directory, or the one that it would be made in, can be written and has space. */
const spaceFound = Effect.fnUntraced(function* (directory: string, setting: string) {
  const at = yield* existing(directory)
  const written = yield* Effect.result(tryWriting(at))
  if (Result.isFailure(written)) return unwritable(at, written.failure.message, setting)
  const { bavail, bsize } = yield* attempt(() => statfs(at))
  const free = Math.floor((bavail * bsize) / mebibyte)
  const message = `${directory}: ${free} MiB free`
  if (free >= little) return ok(message)
  return (free < veryLittle ? fail : warn)(message, `Make room, or set ${setting} to another disk.`)
})

export const logFound = Effect.fnUntraced(function* (log: string, setting: string) {
  if (log === "stdout") return ok("standard output")
  const file = resolve(log)
  const directory = dirname(file)
  if (yield* exists(file)) {
    const appended = yield* Effect.result(tryAppending(file))
    if (Result.isFailure(appended)) return unwritable(file, appended.failure.message, setting)
    if (!appended.success) return ok(`${file}, which is no file`)
  } else if (!(yield* exists(directory))) {
    return fail(`${directory} does not exist`, `Make it, or set ${setting} to another file.`)
  }
  return yield* spaceFound(directory, setting)
})

export const stateFound = ({ redisUrl, stateDir }: Pick<GatewaySettings, "redisUrl" | "stateDir">) =>
  Option.isSome(redisUrl)
    ? Effect.succeed(ok("quotas are counted in Redis"))
    : spaceFound(resolve(stateDir), "GATEWAY_STATE_DIR")

const count = (many: number, one: string, several?: string) => `${many} ${plural(many, one, several)}`

/** What a guard's address may be sent, beside what the guard is meant to see. */
const guardFound = (guard: GuardSettings): Found => {
  const held = levelsOf(guard)
  const astray = (guard.levels ?? levels).filter((level) => !held.has(level))
  const holds = `${guard.name}: texts of ${[...held].join(", ") || "no level"} may go to ${guard.url}`
  if (astray.length === 0) return ok(holds)
  const become = guard.onFailure === "pass" ? "pass unseen, and are flagged" : "are refused"
  return warn(
    `${holds}; requests at ${astray.join(", ")} ${become}`,
    "Put a detector inside their boundary and declare it, or name the guard's levels. docs/guards.md#the-file"
  )
}

export const guardsFound = Effect.fnUntraced(function* (file: string) {
  const { guards } = yield* readGuards(file)
  const found = [ok(`${file}: ${count(guards.length, "guard")}`)]
  for (const guard of guards) {
    found.push(guardFound(guard))
    const { certificate, key } = guard
    if (certificate === undefined || key === undefined) continue
    found.push(...(yield* chainFound(resolve(dirname(file), certificate), resolve(dirname(file), key))))
  }
  return found
})

/** When its certificates end, and whether its revocation lists are in force. Of several certificates not all need to be. */
const authorityFound = (file: string, { issuers, name, needsList }: Authority, now: number): ReadonlyArray<Found> => {
  const title = `${file}: ${name}`
  const listLasts = (issuer: Authority["issuers"][number]) => (needsList ? (listsEnd(issuer) ?? 0) - now : Infinity)
  const hasList = (issuer: Authority["issuers"][number]) => listLasts(issuer) > 0
  const state = issuers.some((issuer) => isInTime(issuer.certificate, now) && hasList(issuer)) ? warn : fail
  return issuers.flatMap((issuer) => {
    const found = certificateFound(title, issuer.certificate, now, state)
    const fetch = "Fetch the authority's list, regularly."
    const [name, lasts] = [titleOf(title, issuer.certificate), listLasts(issuer)]
    if (lasts <= 0) {
      return [found, state(`${name} has no revocation list in force: what it has issued is refused`, fetch)]
    }
    if (lasts > day) return [found]
    return [found, warn(`${name}: the revocation list ends in ${count(Math.ceil(lasts / 3_600_000), "hour")}`, fetch)]
  })
}

const keysAtFound = (url: string) =>
  Effect.match(fetchKeys(url), {
    onFailure: ({ message }) =>
      fail(message, "Check the address, DNS, firewall, GATEWAY_HTTPS_PROXY and NODE_EXTRA_CA_CERTS."),
    onSuccess: () => ok(`the keys at ${url} can be fetched`)
  })

/** The keys at an issuer's address, which are asked for apart. */
const notAsked: IssuerKeys = { current: () => undefined, refresh: Effect.void }

export const identityFound = Effect.fnUntraced(function* (file: string) {
  const read = yield* readIdentity(file)
  const { authorities, issuers, rules } = yield* trustOf(read, () => Effect.succeed(notAsked))
  const now = yield* Clock.currentTimeMillis
  const parts = [
    count(issuers.size, "issuer"),
    count(authorities.length, "authority", "authorities"),
    count(rules.length, "rule")
  ]
  const addresses = [...issuers.values()].map(({ issuer }) => issuer.jwks).filter(isUrl)
  const fetched = yield* Effect.forEach(addresses, keysAtFound, { concurrency: "unbounded" })
  return [
    ok(`${file}: ${parts.join(", ")}`),
    ...fetched,
    ...authorities.flatMap((one) => authorityFound(file, one, now))
  ]
})

export const signingFound = Effect.fnUntraced(function* (file: string) {
  const { key } = yield* readSigner(file)
  return [ok(`${file}: heads of the records are signed by the key ${key}`), ...(yield* modeFound(file, warn))]
})

export const noticeFound = (file: string) =>
  Effect.map(readNotice(Option.some(file)), (text = "") => ok(`${file}: ${text.length} characters`))
