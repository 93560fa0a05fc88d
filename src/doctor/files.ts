/** Checks of files: keys, certificates, and the room that records and counts have. */
import { X509Certificate } from "node:crypto"
import { constants } from "node:fs"
import { access, open, rm, stat, statfs, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { DateTime, Effect, Option, Result } from "effect"
import { writeProblem } from "../access/disk.ts"
import { readIfExists } from "../access/files.ts"
import { parseKeys } from "../access/KeyFile.ts"
import { checkTlsFiles } from "../listener.ts"
import { readRegular } from "../regularFile.ts"
import type { GatewaySettings } from "../Settings.ts"
import { type Check, type Found, fail, ok, warn } from "./Finding.ts"

const attempt = <A>(promise: () => Promise<A>) =>
  Effect.tryPromise({
    try: promise,
    catch: (cause) => ({ message: writeProblem(cause) })
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

/** Writes nothing to what is there: a file, or a pipe or device, which has no room of its own. */
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

const unwritable = (path: string, why: string, setting: string) =>
  fail(
    `${path} cannot be written (${why})`,
    `Make room there and give this user the right to write, or set ${setting} to another place.`
  )

/** Whether a directory, or the one that it would be made in, can be written and has room. */
const roomIn = Effect.fnUntraced(function* (directory: string, forWhat: string, setting: string) {
  const at = yield* existing(directory)
  const written = yield* Effect.result(tryWriting(at))
  if (Result.isFailure(written)) return unwritable(at, written.failure.message, setting)
  const { bavail, bsize } = yield* attempt(() => statfs(at))
  const free = bavail * bsize
  const said = `${directory}: ${inMiB(free)} free`
  if (free < veryLittle) return fail(`${said} ${forWhat}`, `Make room, or set ${setting} to another disk.`)
  return free < little ? warn(`${said} ${forWhat}`, `Make room, or set ${setting} to another disk.`) : ok(said)
})

export const usageLogCheck = ({ usageLog }: Pick<GatewaySettings, "usageLog">): Check => ({
  name: "usage log",
  look:
    usageLog === "stdout"
      ? Effect.succeed(ok("standard output"))
      : Effect.gen(function* () {
          const file = resolve(usageLog)
          if (yield* exists(file)) {
            const appended = yield* Effect.result(tryAppending(file))
            if (Result.isFailure(appended)) return unwritable(file, appended.failure.message, "GATEWAY_USAGE_LOG")
            if (!appended.success) return ok(`${file}, which is no file`)
          } else if (!(yield* exists(dirname(file)))) {
            return fail(`${dirname(file)} does not exist`, "Make it, or set GATEWAY_USAGE_LOG to another file.")
          }
          return yield* roomIn(dirname(file), "for usage records", "GATEWAY_USAGE_LOG")
        })
})

/** Where quotas are counted without Redis. */
export const stateCheck = ({ redisUrl, stateDir }: Pick<GatewaySettings, "redisUrl" | "stateDir">): Check => ({
  name: "state",
  look: Option.isSome(redisUrl)
    ? Effect.succeed(ok("quotas are counted in Redis"))
    : roomIn(resolve(stateDir), "for counts of quotas", "GATEWAY_STATE_DIR")
})
