/** What the `keys` commands do; each returns the text to print (docs/operation.md#commands). */
import { DateTime, type Duration, Effect, Option, Schema } from "effect"
import { usageNotice } from "../api/usageNotice.ts"
import { isLevel, levels } from "../model/Level.ts"
import { FileError } from "./files.ts"
import { changeKeys, digestOf, type Key, ModelPattern, newSecret, readKeys } from "./KeyFile.ts"

/** The options of `keys create`, as they were typed. */
export interface CreateOptions {
  readonly name: string
  /** Base model names or prefixes, comma separated: `claude-*,gpt-5.1`. */
  readonly models?: string | undefined
  /** Levels, comma separated: `il5,itar`. */
  readonly levels?: string | undefined
  readonly rpm?: number | undefined
  readonly streams?: number | undefined
  readonly monthlyTokens?: number | undefined
  /** `2027-01-31` (from 00:00 UTC of that day the key is refused) or a full ISO 8601 time. */
  readonly expires?: string | undefined
}

const fail = (message: string) => Effect.fail(new FileError({ message }))

const list = (text: string): ReadonlyArray<string> => [...new Set(text.split(",").map((item) => item.trim()))]

const parseLevels = (text: string) =>
  Effect.forEach(list(text), (level) =>
    isLevel(level)
      ? Effect.succeed(level)
      : fail(`--levels: ${JSON.stringify(level)} is not a level. Levels: ${levels.join(", ")}`)
  )

const isModelPattern = Schema.is(ModelPattern)
const parseModels = (text: string) =>
  Effect.forEach(list(text), (pattern) =>
    isModelPattern(pattern)
      ? Effect.succeed(pattern)
      : fail(
          `--models: ${JSON.stringify(pattern)} is neither a base model name (gpt-5.1) nor a prefix (claude-*). ` +
            "Levels go into --levels."
        )
  )

const parseCount = (option: string, value: number) =>
  Number.isSafeInteger(value) && value > 0
    ? Effect.succeed(value)
    : fail(`--${option}: expected a whole number above 0, such as --${option} 60`)

const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d))?$/
const parseExpires = (text: string, now: DateTime.Utc) => {
  // Date rolls 2027-02-31 over into March, so what it read is compared with what was written.
  const time = Option.filter(
    isoTime.test(text) ? DateTime.make(text) : Option.none(),
    (time) => text.length > 10 || DateTime.formatIsoDateUtc(time) === text
  )
  if (Option.isNone(time))
    return fail("--expires: expected a date such as 2027-01-31, or a time such as 2027-01-31T17:00:00Z")
  if (DateTime.toEpochMillis(time.value) <= DateTime.toEpochMillis(now))
    return fail(`--expires: ${text} has passed already`)
  return Effect.succeed(DateTime.toUtc(time.value))
}

const given = <A, B, E>(
  value: A | undefined,
  parse: (value: A) => Effect.Effect<B, E>
): Effect.Effect<B | undefined, E> => (value === undefined ? Effect.undefined : parse(value))

const minute = (time: DateTime.Utc): string => `${DateTime.formatIso(time).slice(0, 16).replace("T", " ")} UTC`

const secretText = (secret: string): string =>
  `  ${secret}\n\nIt is shown this once. Send it in the header x-api-key.\n`

/** Creates a key. The text holds its secret, which is stored nowhere. */
export const createKey = Effect.fnUntraced(function* (file: string, options: CreateOptions) {
  const now = yield* DateTime.now
  const name = options.name.trim()
  if (name === "" || name.length > 200 || /[\p{Cc}\p{Cf}]/u.test(name)) {
    return yield* fail("--name: expected 1 to 200 characters that say who uses the key")
  }
  const models = yield* given(options.models, parseModels)
  const allowed = yield* given(options.levels, parseLevels)
  const rpm = yield* given(options.rpm, (value) => parseCount("rpm", value))
  const streams = yield* given(options.streams, (value) => parseCount("streams", value))
  const monthlyTokens = yield* given(options.monthlyTokens, (value) => parseCount("monthly-tokens", value))
  const expires = yield* given(options.expires, (value) => parseExpires(value, now))
  const secret = newSecret()
  const key: Key = {
    id: `key_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`,
    name,
    digest: digestOf(secret),
    created: now,
    acknowledged: now,
    expires,
    models,
    levels: allowed,
    requestsPerMinute: rpm,
    streams,
    monthlyTokens
  }
  yield* changeKeys(file, (keys) => Effect.succeed({ keys: [...keys, key], result: undefined }))
  return `Created key ${key.id} (${name}) in ${file}.\n\n${secretText(secret)}\n${usageNotice}\n`
})

/** Changes the one key with that ID; `change` may refuse. */
const changeKey = <A>(
  file: string,
  id: string,
  change: (key: Key) => Effect.Effect<{ readonly key: Key; readonly result: A }, FileError>
) =>
  changeKeys(
    file,
    Effect.fnUntraced(function* (keys) {
      const key = keys.find((key) => key.id === id)
      if (key === undefined) {
        return yield* fail(
          `There is no key ${JSON.stringify(id)} in ${file}. Show the IDs: npm run gateway -- keys list`
        )
      }
      const changed = yield* change(key)
      return { keys: keys.map((other) => (other.id === id ? changed.key : other)), result: changed.result }
    })
  )

/** Revokes a key for good. Running gateways refuse it within 5 seconds. */
export const revokeKey = Effect.fnUntraced(function* (file: string, id: string) {
  const now = yield* DateTime.now
  return yield* changeKey(file, id, (key) =>
    Effect.succeed(
      key.revoked === undefined
        ? {
            key: { ...key, revoked: now },
            result: `Revoked key ${id} (${key.name}). Gateways refuse it within 5 seconds.\n`
          }
        : { key, result: `Key ${id} (${key.name}) is revoked since ${minute(key.revoked)}.\n` }
    )
  )
})

/** Gives a key a new secret; the old one works for `grace` longer (default a day; zero ends it at once). */
export const rotateKey = Effect.fnUntraced(function* (file: string, id: string, grace: Duration.Input = "1 day") {
  const now = yield* DateTime.now
  const until = DateTime.addDuration(now, grace)
  const secret = newSecret()
  return yield* changeKey(file, id, (key) => {
    if (key.revoked !== undefined) return fail(`Key ${id} is revoked. Create another one with keys create.`)
    return Effect.succeed({
      key: { ...key, digest: digestOf(secret), previous: { digest: key.digest, until } },
      result: `Rotated key ${id} (${key.name}). The old secret works until ${minute(until)}. The new one:\n\n${secretText(secret)}`
    })
  })
})

const status = (key: Key, now: DateTime.Utc): string => {
  if (key.revoked !== undefined) return `revoked ${minute(key.revoked)}`
  if (key.expires === undefined) return "active"
  const ended = DateTime.toEpochMillis(key.expires) <= DateTime.toEpochMillis(now)
  return `${ended ? "expired" : "expires"} ${minute(key.expires)}`
}

/** A table with columns as wide as their widest cell. */
const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)))
  const line = (row: ReadonlyArray<string>) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("")
}

const orAll = (items: ReadonlyArray<string> | undefined): string => items?.join(",") ?? "all"
const orNone = (count: number | undefined): string => count?.toString() ?? "-"

/**
 * All keys, a line each, without their secrets. `used` tells a key's tokens of this month (`Quota.used`); what it cannot tell is
 * shown as `?`, and a key without a quota has `-`.
 */
export const listKeys = Effect.fnUntraced(function* <E = never, R = never>(
  file: string,
  used?: (keyId: string) => Effect.Effect<number, E, R>
) {
  const now = yield* DateTime.now
  const keys = yield* readKeys(file)
  if (keys.length === 0) return `There are no keys in ${file}. Create one: npm run gateway -- keys create --name NAME\n`
  const usedBy = ({ id, monthlyTokens }: Key) => {
    if (monthlyTokens === undefined) return Effect.succeed("-")
    if (used === undefined) return Effect.succeed("?")
    return Effect.map(used(id), String).pipe(Effect.orElseSucceed(() => "?"))
  }
  const rows = yield* Effect.forEach(keys, (key) =>
    Effect.map(usedBy(key), (tokens) => [
      key.id,
      key.name,
      status(key, now),
      orAll(key.models),
      orAll(key.levels),
      orNone(key.requestsPerMinute),
      orNone(key.streams),
      orNone(key.monthlyTokens),
      tokens
    ])
  )
  return table([["ID", "NAME", "STATUS", "MODELS", "LEVELS", "RPM", "STREAMS", "TOKENS/MONTH", "USED"], ...rows])
})
