/** What the commands do that make and change keys; each returns the text to print (docs/operation.md#keys). */
import { DateTime, Duration, Effect, String as Str } from "effect"
import { auditDone } from "../../audit/Audit.ts"
import { isCallerId, type Limits } from "../../contract/Security.ts"
import { usageNotice } from "../../contract/usageNotice.ts"
import { changeBook, isExpired, type Key, type KeyBook, type RefusedCaller } from "../../limits/KeyFile.ts"
import { digestOf, newSecret } from "../../limits/Keys.ts"
import { fail, type OperatorError } from "../../wire/OperatorError.ts"
import {
  changeLimits,
  givenTo,
  itemsOf,
  parseExpires,
  parseGiven,
  parseLevels,
  parseLimits,
  parseModels,
  parseOverlap,
  parseTags,
  parseTeam,
  parseText
} from "./keyOptions.ts"

/** Options as they were typed (keyOptions). */
type Typed = Limits & { readonly [name in "team" | "owner" | "models" | "levels" | "expires"]?: string | undefined }

/** What a command needs beside its options. */
interface KeyRules {
  /** Base models of the catalog; absent where none is to be looked up. */
  readonly models?: ReadonlyArray<string> | undefined
  /** The operator's own usage notice. */
  readonly notice?: string | undefined
  /** `GATEWAY_KEYS_MAX_AGE` */
  readonly maxAge?: Duration.Duration | undefined
}

const parseFields = Effect.fnUntraced(function* (options: Typed, rules: KeyRules) {
  return {
    owner: yield* parseGiven(options.owner, parseText("owner", "who answers for the key")),
    models: yield* parseGiven(options.models, parseModels(rules.models)),
    levels: yield* parseGiven(options.levels, parseLevels),
    ...(yield* parseLimits(options))
  }
})

/** When a key ends: as it was asked for, within the longest life that keys may have. */
const endOf = Effect.fnUntraced(function* (
  expires: string | undefined,
  created: DateTime.Utc,
  now: DateTime.Utc,
  { maxAge }: KeyRules
) {
  const asked = yield* parseGiven(expires, parseExpires(now))
  if (maxAge === undefined) return asked
  const latest = DateTime.addDuration(created, maxAge)
  const end = asked ?? latest
  if (DateTime.isLessThanOrEqualTo(end, latest)) return end
  return yield* fail(
    `--expires: keys live ${Duration.format(maxAge)} at most (GATEWAY_KEYS_MAX_AGE), until ${minute(latest)}`
  )
})

export const minute = (time: DateTime.Utc): string => `${DateTime.formatIso(time).slice(0, 16).replace("T", " ")} UTC`

const secretText = (secret: string): string =>
  `  ${secret}\n\nIt is shown this once. Send it in the header x-api-key.\n`

/** Creates a key. The text holds its secret, which is stored nowhere. `tags`: `name=value` each. */
export const createKey = Effect.fnUntraced(function* (
  file: string,
  options: Typed & { readonly name: string; readonly tags?: ReadonlyArray<string> | undefined },
  rules: KeyRules = {}
) {
  const now = yield* DateTime.now
  const name = yield* parseText("name", "who uses the key")(options.name)
  const tags = yield* parseTags(options.tags ?? [])
  const fields = yield* parseFields(options, rules)
  const expires = yield* endOf(options.expires, now, now, rules)
  const secret = newSecret()
  const id = `key_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`
  const add = Effect.fnUntraced(function* ({ keys, teams }: KeyBook) {
    const team = yield* parseGiven(options.team, parseTeam(teams))
    const digest = digestOf(secret)
    const key: Key = { id, name, digest, created: now, acknowledged: now, expires, team, tags, ...fields }
    return { book: { keys: [...keys, key] }, result: key }
  })
  const key = yield* changeBook(file, add)
  yield* auditDone("key.created", { key_id: id, name, given: givenTo(key) })
  return `Created key ${id} (${name}) in ${file}.\n\n${secretText(secret)}\n${rules.notice ?? usageNotice}\n`
})

const changeKey = <A>(
  file: string,
  id: string,
  change: (key: Key, book: KeyBook) => Effect.Effect<{ readonly key: Key; readonly result: A }, OperatorError>
) =>
  changeBook(file, (book) => {
    const key = book.keys.find((key) => key.id === id)
    if (key === undefined) {
      return fail(`There is no key ${JSON.stringify(id)} in ${file}. Show the IDs: npm run gateway -- keys list`)
    }
    return Effect.map(change(key, book), ({ key: after, result }) => ({
      book: { keys: book.keys.map((other) => (other === key ? after : other)) },
      result
    }))
  })

/** Changes what is given and no more. `none`: options whose limits are removed, comma separated. */
export const setKey = Effect.fnUntraced(function* (
  file: string,
  id: string,
  { none, ...options }: Typed & { readonly none?: string | undefined },
  rules: KeyRules = {}
) {
  const now = yield* DateTime.now
  const fields = yield* parseFields(options, rules)
  const change = Effect.fnUntraced(function* (key: Key, { teams }: KeyBook) {
    const team = yield* parseGiven(options.team, parseTeam(teams))
    if (rules.maxAge !== undefined && itemsOf(none ?? "").includes("expires")) {
      return yield* fail(`--none: keys live ${Duration.format(rules.maxAge)} at most (GATEWAY_KEYS_MAX_AGE)`)
    }
    const expires = options.expires === undefined ? undefined : yield* endOf(options.expires, key.created, now, rules)
    const { after, changes } = yield* changeLimits(key, { ...fields, team, expires }, none)
    return { key: after, result: { changes, name: key.name } }
  })
  const { changes, name } = yield* changeKey(file, id, change)
  yield* auditDone("key.changed", { key_id: id, changes })
  return `Key ${id} (${name}): ${changes}. Gateways take it up within 5 seconds.\n`
})

type Refused = Pick<RefusedCaller, "disabled" | "revoked">

/** Changes whether a key, or a caller without one, is refused; returns what it is called, and how it was before. */
const changeRefusal = (
  file: string,
  id: string,
  change: (before: Refused, title: string) => Effect.Effect<Refused, OperatorError>
) =>
  isCallerId(id)
    ? changeBook(file, ({ callers = [] }) => {
        const title = `caller ${id}`
        const before: Refused = callers.find((caller) => caller.id === id) ?? {}
        const rest = callers.filter((caller) => caller.id !== id)
        return Effect.map(change(before, title), ({ disabled, revoked }) => ({
          book: { callers: (disabled ?? revoked) ? [...rest, { id, disabled, revoked }] : rest },
          result: { before, title }
        }))
      })
    : changeKey(file, id, (before) => {
        const title = `key ${id} (${before.name})`
        return Effect.map(change(before, title), ({ disabled, revoked }) => ({
          key: { ...before, disabled, revoked },
          result: { before, title }
        }))
      })

/** Revokes a key, or a caller without one, for good. Running gateways refuse it within 5 seconds. */
export const revokeKey = Effect.fnUntraced(function* (file: string, id: string) {
  const now = yield* DateTime.now
  const revoke = ({ disabled, revoked = now }: Refused) => Effect.succeed({ disabled, revoked })
  const { before, title } = yield* changeRefusal(file, id, revoke)
  if (before.revoked !== undefined) return `${Str.capitalize(title)} is revoked since ${minute(before.revoked)}.\n`
  yield* auditDone("key.revoked", { key_id: id })
  return `Revoked ${title}. Gateways refuse it within 5 seconds.\n`
})

const switchKey = (disabled: boolean) =>
  Effect.fnUntraced(function* (file: string, id: string) {
    const now = yield* DateTime.now
    const { before, title } = yield* changeRefusal(file, id, (before, title) =>
      before.revoked === undefined
        ? Effect.succeed({ disabled: disabled ? (before.disabled ?? now) : undefined })
        : fail(`${Str.capitalize(title)} is revoked for good.`)
    )
    // No error: replicas may not have been notified before.
    if ((before.disabled !== undefined) === disabled) {
      return `${Str.capitalize(title)} is ${disabled ? "disabled" : "enabled"} already.\n`
    }
    const changes = disabled ? "enabled -> disabled" : "disabled -> enabled"
    yield* auditDone("key.changed", { key_id: id, changes })
    return disabled
      ? `Disabled ${title}. Gateways refuse it within 5 seconds; keys enable ${id} takes it back.\n`
      : `Enabled ${title}.\n`
  })

/** Refuses a key, or a caller without one, until it is enabled again. */
export const disableKey = switchKey(true)
export const enableKey = switchKey(false)

/**
 * Gives a key a new secret; the old one works for `overlap` longer, a day unless given. Returns the text, and the digests of the
 * secrets that end now.
 */
export const rotateKey = Effect.fnUntraced(function* (file: string, id: string, overlap?: string) {
  const now = yield* DateTime.now
  const until = DateTime.addDuration(now, yield* parseOverlap(overlap))
  const secret = newSecret()
  const rotated = yield* changeKey(file, id, (key) => {
    if (key.revoked !== undefined) return fail(`Key ${id} is revoked. Create another one with keys create.`)
    if (isExpired(key, DateTime.toEpochMillis(now)))
      return fail(
        `Key ${id} has expired. Give it another end with keys set --expires, or create another one with keys create.`
      )
    const worksUntil = key.expires === undefined ? until : DateTime.min(key.expires, until)
    const ids = [
      ...(key.previous === undefined ? [] : [key.previous.digest]),
      ...(DateTime.isGreaterThan(until, now) ? [] : [key.digest])
    ]
    const text = `Rotated key ${id} (${key.name}). The old secret works until ${minute(worksUntil)}. The new one:\n\n${secretText(secret)}`
    return Effect.succeed({
      key: { ...key, digest: digestOf(secret), previous: { digest: key.digest, until } },
      result: { text, ids }
    })
  })
  yield* auditDone("key.rotated", { key_id: id, until: DateTime.formatIso(until) })
  return rotated
})
