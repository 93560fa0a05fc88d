/** Checks of files: keys, certificates, and the room that records and counts have. */
import { X509Certificate } from "node:crypto"
import { constants } from "node:fs"
import { access, stat, statfs } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { DateTime, Effect, Option } from "effect"
import { readIfExists } from "../access/files.ts"
import { parseKeys } from "../access/KeyFile.ts"
import { checkTlsFiles } from "../listener.ts"
import { readRegular } from "../regularFile.ts"
import type { GatewaySettings } from "../Settings.ts"
import { type Check, type Found, fail, ok, warn } from "./Finding.ts"

const attempt = <A>(promise: () => Promise<A>) =>
  Effect.tryPromise({
    try: promise,
    catch: (cause) => ({ message: cause instanceof Error ? cause.message : String(cause) })
  })

/** What users beside the owner and its group may do, or the group may change; undefined on systems without modes. */
const othersMay = (mode: number): string | undefined => {
  if (process.platform === "win32" || (mode & 0o026) === 0) return undefined
  return `${(mode & 0o022) === 0 ? "read" : "change"} it (mode ${(mode & 0o777).toString(8).padStart(4, "0")})`
}

export const keysCheck = ({ keysFile }: GatewaySettings): Check => ({
  name: "key file",
  look: Effect.gen(function* () {
    const create = "Create a key: npm run gateway -- keys create --name NAME"
    const text = yield* readIfExists(keysFile)
    if (text === undefined) return warn(`${keysFile} does not exist: no caller has a key`, create)
    const keys = yield* parseKeys(keysFile, text)
    const now = yield* DateTime.now
    const active = keys.filter(
      ({ expires, revoked }) => revoked === undefined && (expires === undefined || DateTime.isGreaterThan(expires, now))
    )
    const others = othersMay((yield* attempt(() => stat(keysFile))).mode)
    const said: Array<Found> = [
      active.length === 0
        ? warn(`${keysFile}: none of ${keys.length} keys works`, create)
        : ok(`${keysFile}: ${active.length} of ${keys.length} keys work`)
    ]
    if (others !== undefined) {
      // Whoever may change it can give themselves a key; whoever may read it sees digests and names.
      const what = `${keysFile}: others may ${others}`
      said.push((others.startsWith("change") ? fail : warn)(what, `chmod 600 ${keysFile}`))
    }
    return said
  })
})

/** Days before a certificate ends from which it is reported. */
const soon = 30
const day = 86_400_000

export const tlsCheck = (settings: GatewaySettings): Check => ({
  name: "tls",
  look: Effect.gen(function* () {
    const files = yield* checkTlsFiles(settings)
    if (files === undefined) return ok("off: whatever is in front of the gateway speaks TLS")
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const certificate = new X509Certificate((yield* readRegular(files.cert)).bytes)
    const ends = certificate.validToDate.getTime()
    const until = `${files.cert} (${certificate.subject.replaceAll("\n", ", ") || "no subject"})`
    const date = certificate.validToDate.toISOString().slice(0, 10)
    const renew = "Renew it; the gateway reads the files again by itself."
    const said: Array<Found> = []
    if (ends <= now) said.push(fail(`${until} expired on ${date}`, renew))
    else if (certificate.validFromDate.getTime() > now) {
      said.push(fail(`${until} is not valid yet`, "Look at the clock of this machine and at the certificate."))
    } else if (ends - now < soon * day) {
      said.push(warn(`${until} expires on ${date}, in ${Math.ceil((ends - now) / day)} days`, renew))
    } else said.push(ok(`${until} is valid until ${date}`))
    const others = othersMay((yield* attempt(() => stat(files.key))).mode)
    if (others !== undefined) said.push(warn(`${files.key}: others may ${others}`, `chmod 600 ${files.key}`))
    return said
  })
})

/** Free space below which records are in danger, in bytes. */
const little = 1024 ** 3
const veryLittle = 100 * 1024 ** 2

const inMiB = (bytes: number): string => `${Math.floor(bytes / 1024 ** 2)} MiB`

const exists = (path: string) => Effect.map(Effect.option(attempt(() => access(path))), Option.isSome)

/** The directory, or the nearest one above it that is there. */
const existing = (directory: string): Effect.Effect<string> =>
  Effect.flatMap(exists(directory), (found) =>
    found || dirname(directory) === directory ? Effect.succeed(directory) : existing(dirname(directory))
  )

/** Whether a directory, or the one that it would be made in, can be written and has room. */
const roomIn = Effect.fnUntraced(function* (directory: string, forWhat: string, setting: string) {
  const at = yield* existing(directory)
  const writable = yield* Effect.option(attempt(() => access(at, constants.W_OK)))
  if (Option.isNone(writable)) {
    return fail(`${at} cannot be written: ${forWhat}`, `Give this user the right, or set ${setting} to another place.`)
  }
  const { bavail, bsize } = yield* attempt(() => statfs(at))
  const free = bavail * bsize
  const said = `${directory}: ${inMiB(free)} free`
  if (free < veryLittle) return fail(`${said} ${forWhat}`, `Make room, or set ${setting} to another disk.`)
  return free < little ? warn(`${said} ${forWhat}`, `Make room, or set ${setting} to another disk.`) : ok(said)
})

export const usageLogCheck = ({ usageLog }: GatewaySettings): Check => ({
  name: "usage log",
  look:
    usageLog === "stdout"
      ? Effect.succeed(ok("standard output"))
      : Effect.gen(function* () {
          const file = resolve(usageLog)
          if (yield* exists(file)) {
            const writable = yield* Effect.option(attempt(() => access(file, constants.W_OK)))
            if (Option.isNone(writable)) {
              return fail(
                `${file} cannot be written`,
                "Give this user the right, or set GATEWAY_USAGE_LOG to another file."
              )
            }
          } else if (!(yield* exists(dirname(file)))) {
            return fail(`${dirname(file)} does not exist`, "Make it, or set GATEWAY_USAGE_LOG to another file.")
          }
          return yield* roomIn(dirname(file), "for usage records", "GATEWAY_USAGE_LOG")
        })
})

/** Where quotas are counted without Redis. */
export const stateCheck = ({ redisUrl, stateDir }: GatewaySettings): Check => ({
  name: "state",
  look: Option.isSome(redisUrl)
    ? Effect.succeed(ok("quotas are counted in Redis"))
    : roomIn(resolve(stateDir), "for counts of quotas", "GATEWAY_STATE_DIR")
})
