/** What `keys create`, `keys revoke` and `keys rotate` do; each returns the text to print (docs/operation.md#commands). */
import { DateTime, type Duration, Effect } from "effect"
import { usageNotice } from "../contract/usageNotice.ts"
import type { FileError } from "./files.ts"
import { changeBook, digestOf, type Key, newSecret } from "./KeyFile.ts"
import {
  fail,
  type LimitOptions,
  parseExpires,
  parseGiven,
  parseLevels,
  parseLimits,
  parseModels,
  parseTags,
  parseTeam,
  parseText
} from "./keyOptions.ts"

/** The options of `keys create`, as they were typed. */
export interface CreateOptions extends LimitOptions {
  readonly name: string
  readonly team?: string | undefined
  readonly owner?: string | undefined
  /** `name=value` each. */
  readonly tags?: ReadonlyArray<string> | undefined
  /** Base model names or prefixes, comma separated: `claude-*,gpt-5.1`. */
  readonly models?: string | undefined
  /** Levels, comma separated: `il5,itar`. */
  readonly levels?: string | undefined
  /** `2027-01-31` (from 00:00 UTC of that day the key is refused), a full ISO 8601 time, or `90d`. */
  readonly expires?: string | undefined
}

export const minute = (time: DateTime.Utc): string => `${DateTime.formatIso(time).slice(0, 16).replace("T", " ")} UTC`

const secretText = (secret: string): string =>
  `  ${secret}\n\nIt is shown this once. Send it in the header x-api-key.\n`

/** Creates a key. The text holds its secret, which is stored nowhere. `models`: the catalog's, where it can be read. */
export const createKey = Effect.fnUntraced(function* (
  file: string,
  options: CreateOptions,
  models?: ReadonlyArray<string>
) {
  const now = yield* DateTime.now
  const name = yield* parseText("name", "who uses the key")(options.name)
  const owner = yield* parseGiven(options.owner, parseText("owner", "who answers for the key"))
  const tags = yield* parseTags(options.tags ?? [])
  const patterns = yield* parseGiven(options.models, parseModels(models))
  const allowed = yield* parseGiven(options.levels, parseLevels)
  const limits = yield* parseLimits(options)
  const expires = yield* parseGiven(options.expires, parseExpires(now))
  const secret = newSecret()
  const id = `key_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`
  yield* changeBook(
    file,
    Effect.fnUntraced(function* ({ keys, teams }) {
      const team = yield* parseGiven(options.team, parseTeam(teams))
      const key: Key = {
        id,
        name,
        digest: digestOf(secret),
        created: now,
        acknowledged: now,
        expires,
        team,
        owner,
        tags,
        models: patterns,
        levels: allowed,
        ...limits
      }
      return { book: { keys: [...keys, key], teams }, result: undefined }
    })
  )
  return `Created key ${id} (${name}) in ${file}.\n\n${secretText(secret)}\n${usageNotice}\n`
})

/** Changes the one key with that ID; `change` may refuse. */
const changeKey = <A>(
  file: string,
  id: string,
  change: (key: Key) => Effect.Effect<{ readonly key: Key; readonly result: A }, FileError>
) =>
  changeBook(
    file,
    Effect.fnUntraced(function* ({ keys, teams }) {
      const key = keys.find((key) => key.id === id)
      if (key === undefined) {
        return yield* fail(
          `There is no key ${JSON.stringify(id)} in ${file}. Show the IDs: npm run gateway -- keys list`
        )
      }
      const changed = yield* change(key)
      const book = { keys: keys.map((other) => (other.id === id ? changed.key : other)), teams }
      return { book, result: changed.result }
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

/** Gives a key a new secret; the old one works for `grace` longer (default a day; zero ends it immediately). */
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
