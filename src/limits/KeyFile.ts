/** The file that holds the API keys' digests and what each key may do (docs/decisions.md#keys). It never holds a secret. */
import { dirname, resolve } from "node:path"
import { Array as Arr, DateTime, Effect, FileSystem, Option, Record, Result, Schema } from "effect"
import { levels } from "../catalog/names.ts"
import { isCallerId } from "../contract/Security.ts"
import { inSetting, type OperatorError, rephrase } from "../wire/OperatorError.ts"
import { entryOf, parser, readSet, withLock, writeAtomic } from "./files.ts"
import { limitKinds } from "./limits.ts"

const Digest = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
const Count = Schema.Int.check(Schema.isGreaterThan(0))

/** A base model name, or the start of one and `*`: `claude-*`, `gpt-5.1`, `*`. Compared exactly, case included. */
export const ModelPattern = Schema.String.check(
  Schema.isPattern(/^[^*\s,:]*\*?$/, {
    message: "expected a base model name such as gpt-5.1, or a prefix such as claude-*"
  }),
  Schema.isNonEmpty()
)

export const Name = Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(200))

/** In whole units of the catalog's currency. */
export const mostCost = 1_000_000_000
const Cost = Count.check(Schema.isLessThanOrEqualTo(mostCost))

const limitFields = Record.map(limitKinds, ({ unit }) => Schema.optional(unit === "cost" ? Cost : Count))

/** Whether a pattern such as `claude-*` holds for a text, to the letter. */
export const matches = (pattern: string, text: string): boolean =>
  pattern.endsWith("*") ? text.startsWith(pattern.slice(0, -1)) : text === pattern

/** The name of a team or of a tag. */
export const ShortName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
    message: "expected 1 to 64 letters, digits, '.', '_' and '-'"
  })
)
/** Records carry them. */
export const maxTags = 16
const Tags = Schema.Record(ShortName, Schema.String.check(Schema.isMaxLength(200))).check(
  Schema.makeFilter((tags) => Object.keys(tags).length <= maxTags || `at most ${maxTags} tags`)
)

/** A team: its limits hold for all its keys together. */
export const Team = Schema.Struct({ name: ShortName, ...limitFields })
export type Team = typeof Team.Type

/** What a key may do, and a rule for callers without one. Absent models or levels are all of them; an absent limit is no limit. */
export const permissionFields = {
  /** A team of the key file. */
  team: Schema.optional(ShortName),
  /** Who answers for it; for people. */
  owner: Schema.optional(Name),
  tags: Schema.optional(Tags),
  models: Schema.optional(Schema.Array(ModelPattern).check(Schema.isMinLength(1))),
  levels: Schema.optional(Schema.Array(Schema.Literals(levels)).check(Schema.isMinLength(1))),
  ...limitFields
}

/** A date or a time in ISO 8601, to the day: JavaScript reads more, as `1` for a year, and rolls 2027-02-31 over into March. */
export const isTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/.test(text) &&
  Option.exists(DateTime.make(text.slice(0, 10)), (date) => DateTime.formatIsoDateUtc(date) === text.slice(0, 10))
const Time = Schema.String.check(
  Schema.makeFilter(
    (text) => isTime(text) || "must be a date such as 2027-01-31 or a time such as 2027-01-31T17:00:00Z"
  )
).pipe(Schema.decodeTo(Schema.DateTimeUtcFromString))

/** One key. Times without a zone are UTC. */
export const Key = Schema.Struct({
  id: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/)),
  name: Name,
  /** SHA-256 of the secret, hex. The secret has 256 random bits, so it needs no salt and no slow hash. */
  digest: Digest,
  created: Time,
  /** When the usage notice was shown to the person who created the key (docs/api.md#usage-notice). */
  acknowledged: Time,
  expires: Schema.optional(Time),
  revoked: Schema.optional(Time),
  /** Refused until it is enabled again. */
  disabled: Schema.optional(Time),
  ...permissionFields,
  /** The secret before the last rotation, which works until then. */
  previous: Schema.optional(Schema.Struct({ digest: Digest, until: Time }))
})
export type Key = typeof Key.Type
export const encodeKey = Schema.encodeSync(Key)

/** `now` is in milliseconds since the epoch. */
export const isExpired = ({ expires }: Key, now: number): boolean =>
  expires !== undefined && DateTime.toEpochMillis(expires) <= now

/** Whether a key is over for good. `now` as for `isExpired`. */
export const isOver = (key: Key, now: number): boolean => key.revoked !== undefined || isExpired(key, now)

/** A caller without a key that is refused, whatever the identity file says of it. */
const RefusedCaller = Schema.Struct({
  id: Schema.String.check(Schema.makeFilter((id) => isCallerId(id) || "must be the ID of a caller, jwt_… or crt_…")),
  revoked: Schema.optional(Time),
  /** Refused until it is enabled again. */
  disabled: Schema.optional(Time)
})
export type RefusedCaller = typeof RefusedCaller.Type

export const allUnique = <A>(nameOf: (item: A) => string, message: string) =>
  Schema.makeFilter((items: ReadonlyArray<A>) => new Set(items.map(nameOf)).size === items.length || message)

const KeyFile = Schema.Struct({
  version: Schema.Literal(1),
  keys: Schema.Array(entryOf(Key)).check(allUnique(({ id }) => id, "two keys have the same id")),
  teams: Schema.optional(
    Schema.Array(entryOf(Team)).check(allUnique(({ name }) => name, "two teams have the same name"))
  ),
  callers: Schema.optional(Schema.Array(entryOf(RefusedCaller)))
}).check(
  // Of two keys with one secret, the last would decide, and revoking the other would change nothing.
  Schema.makeFilter(({ keys }) => {
    const secrets = keys.flatMap(({ digest, id, previous }) =>
      [digest, previous?.digest ?? []].flat().map((digest) => ({ digest, id }))
    )
    const same = Object.values(Arr.groupBy(secrets, ({ digest }) => digest)).find(({ length }) => length > 1)
    return same === undefined || `two keys have the same secret: ${same.map(({ id }) => id).join(" and ")}`
  }),
  // A misspelt team must not be read as one without limits.
  Schema.makeFilter(({ keys, teams = [] }) => {
    const key = keys.find(
      ({ revoked, team }) => team !== undefined && revoked === undefined && !teams.some(({ name }) => name === team)
    )
    return key === undefined || `key ${key.id} is of team ${key.team}, which teams does not name`
  })
)

export type KeyBook = Pick<typeof KeyFile.Type, "keys" | "callers"> & { readonly teams: ReadonlyArray<Team> }
export const emptyBook: KeyBook = { keys: [], teams: [] }

const setting = "GATEWAY_KEYS_FILE"

/** The text of a key file; undefined where there is none. */
export const readKeyFile = (path: string) => readSet(path, setting)

const parse = parser(
  KeyFile,
  setting,
  "a key file",
  ". Name another, or fix it; keys are made with: npm run gateway -- keys create --name NAME"
)
const encode = Schema.encodeSync(KeyFile)

export const parseBook = (path: string, text: string): Effect.Effect<KeyBook, OperatorError> =>
  Effect.map(parse(path, text), ({ teams = [], ...book }) => ({ ...book, teams }))

/** The keys and teams of a file, none when there is no file. */
export const readBook = Effect.fnUntraced(function* (path: string) {
  const text = yield* readKeyFile(path)
  return text === undefined ? emptyBook : yield* parseBook(path, text)
})

/** What a path leads to, also where a link leads to what is not there yet. */
const behindLinks = (path: string): Effect.Effect<string, never, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const real = yield* Effect.result(fs.realPath(path))
    if (Result.isSuccess(real)) return real.success
    if (real.failure.reason._tag !== "NotFound") return path
    const target = yield* fs.readLink(path)
    return yield* behindLinks(resolve(yield* fs.realPath(dirname(path)), target))
  }).pipe(Effect.orElseSucceed(() => path))

/** Changes what `change` names of a key file, one command at a time, and returns what else it made. A link to the file stays one. */
export const changeBook = Effect.fnUntraced(function* <A, E, R>(
  link: string,
  change: (book: KeyBook) => Effect.Effect<{ readonly book: Partial<KeyBook>; readonly result: A }, E, R>
) {
  const path = yield* behindLinks(link)
  const changing = Effect.gen(function* () {
    const before = yield* readBook(path)
    const { book, result } = yield* change(before)
    const { callers = [], keys, teams } = { ...before, ...book }
    const file = encode({
      version: 1,
      keys,
      ...(teams.length === 0 ? {} : { teams }),
      ...(callers.length === 0 ? {} : { callers })
    })
    yield* rephrase(writeAtomic(path, `${JSON.stringify(file, null, 2)}\n`), inSetting(setting))
    return result
  })
  return yield* withLock(path, setting, changing)
})
