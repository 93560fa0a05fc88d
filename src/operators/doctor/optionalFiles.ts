/** Checks of files that a gateway has only where a setting names them. A file that is broken fails the start. */
import { dirname, resolve } from "node:path"
import { DateTime, Effect, Option } from "effect"
import { levels } from "../../catalog/Level.ts"
import { type GuardRead, type GuardSettings, levelsOf, readGuards } from "../../guards/GuardsFile.ts"
import { readIdentity } from "../../identity/IdentityFile.ts"
import { readSigner } from "../../limits/usageChain.ts"
import type { GatewaySettings } from "../../Settings.ts"
import { readNotice } from "../../settings/notice.ts"
import { plural } from "../../wire/plural.ts"
import { type Check, type Found, makeCheck, ok, warn } from "./Finding.ts"
import { certificateFound, modeFound } from "./files.ts"

type Find = Parameters<typeof makeCheck>[1]

const whereSet = (name: string, file: Option.Option<string>, find: (file: string) => Find): ReadonlyArray<Check> =>
  Option.isNone(file) ? [] : [makeCheck(name, find(file.value))]

const count = (items: ReadonlyArray<unknown>, one: string, many?: string) =>
  `${items.length} ${plural(items.length, one, many)}`

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

/** What it shows of the gateway's own, and who may read the key. */
const clientFound = (file: string, { certificate, client, key }: GuardRead) =>
  Effect.gen(function* () {
    if (certificate === undefined || client === undefined || key === undefined) return []
    const path = (name: string) => resolve(dirname(file), name)
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const found = certificateFound(path(certificate), Buffer.from(client.cert), now)
    return [found, ...(yield* modeFound(path(key), warn))]
  })

const guardsFound = (file: string): Find =>
  Effect.gen(function* () {
    const { guards } = yield* readGuards(file)
    const found = yield* Effect.forEach(guards, (guard) =>
      Effect.map(clientFound(file, guard), (client) => [guardFound(guard), ...client])
    )
    return [ok(`${file}: ${count(guards, "guard")}`), ...found.flat()]
  })

const identityFound = (file: string): Find =>
  Effect.map(readIdentity(file), ({ file: { authorities = [], issuers = [], rules } }) => {
    const parts = [count(issuers, "issuer"), count(authorities, "authority", "authorities"), count(rules, "rule")]
    return ok(`${file}: ${parts.join(", ")}`)
  })

const signingFound = (file: string): Find =>
  Effect.gen(function* () {
    const { key } = yield* readSigner(file)
    return [ok(`${file}: heads of the records are signed by the key ${key}`), ...(yield* modeFound(file, warn))]
  })

const noticeFound = (file: string): Find =>
  Effect.map(readNotice(Option.some(file)), (text = "") => ok(`${file}: ${text.length} characters`))

export const optionalFileChecks = (settings: GatewaySettings): ReadonlyArray<Check> => [
  ...whereSet("guards file", settings.guardsFile, guardsFound),
  ...whereSet("identity file", settings.identityFile, identityFound),
  ...whereSet("signing key", settings.recordSigningKey, signingFound),
  ...whereSet("notice", settings.noticeFile, noticeFound)
]
