/** The file that holds the API keys' digests and what each key may do (docs/decisions.md#keys). It never holds a secret. */
import { hash, randomBytes } from "node:crypto"
import { Effect, Schema } from "effect"
import { levels } from "../model/Level.ts"
import { FileError, readOwned, withLock, writeAtomic } from "./files.ts"

const Digest = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
const Count = Schema.Int.check(Schema.isGreaterThan(0))

/** A base model name, or the start of one and `*`: `claude-*`, `gpt-5.1`, `*`. Compared exactly, case included. */
export const ModelPattern = Schema.String.check(
  Schema.isPattern(/^[^*\s,:]*\*?$/, {
    message: "expected a base model name such as gpt-5.1, or a prefix such as claude-*"
  }),
  Schema.isNonEmpty()
)

/** One key. Times are UTC, written as ISO 8601. An absent limit is no limit; absent models or levels are all of them. */
export const Key = Schema.Struct({
  id: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/)),
  name: Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(200)),
  /** SHA-256 of the secret, hex. The secret has 256 random bits, so it needs no salt and no slow hash. */
  digest: Digest,
  created: Schema.DateTimeUtcFromString,
  /** When the usage notice was shown to whoever created the key (docs/api.md#usage-notice). */
  acknowledged: Schema.DateTimeUtcFromString,
  expires: Schema.optional(Schema.DateTimeUtcFromString),
  revoked: Schema.optional(Schema.DateTimeUtcFromString),
  models: Schema.optional(Schema.Array(ModelPattern).check(Schema.isMinLength(1))),
  levels: Schema.optional(Schema.Array(Schema.Literals(levels)).check(Schema.isMinLength(1))),
  requestsPerMinute: Schema.optional(Count),
  /** Streams at the same time. */
  streams: Schema.optional(Count),
  /** Tokens in a UTC calendar month, input and output together. */
  monthlyTokens: Schema.optional(Count),
  /** The secret before the last rotation, which works until then. */
  previous: Schema.optional(Schema.Struct({ digest: Digest, until: Schema.DateTimeUtcFromString }))
})
export type Key = typeof Key.Type

const KeyFile = Schema.Struct({
  version: Schema.Literal(1),
  keys: Schema.Array(Key).check(
    Schema.makeFilter((keys) => new Set(keys.map(({ id }) => id)).size === keys.length || "two keys have the same id")
  )
})
const KeyFileJson = Schema.fromJsonString(KeyFile)
// A misspelt restriction must not be read as none, so unknown fields are refused.
const decode = Schema.decodeUnknownEffect(KeyFileJson, { onExcessProperty: "error" })
const encode = Schema.encodeSync(KeyFile)

/** Hex SHA-256 of a secret. */
export const digestOf = (secret: string): string => hash("sha256", secret, "hex")
/** A new secret: `gmg_` and 32 random bytes in base64url. */
export const newSecret = (): string => `gmg_${randomBytes(32).toString("base64url")}`

/** The keys in a file's text. */
export const parseKeys = (path: string, text: string): Effect.Effect<ReadonlyArray<Key>, FileError> =>
  decode(text).pipe(
    Effect.map(({ keys }) => keys),
    Effect.mapError(
      (error) =>
        new FileError({
          message: `${path} is not a key file: ${error.message.replace(/\s*\n\s*/g, " ")}. Name another in GATEWAY_KEYS_FILE, or mend it; keys are made with: npm run gateway -- keys create --name NAME`
        })
    )
  )

/** The keys of a file, none when there is no file. */
export const readKeys = Effect.fnUntraced(function* (path: string) {
  const text = yield* readOwned(path)
  return text === undefined ? [] : yield* parseKeys(path, text)
})

/** Changes the keys of a file, one command at a time, and returns what `change` made beside the keys. */
export const changeKeys = <A, E, R>(
  path: string,
  change: (keys: ReadonlyArray<Key>) => Effect.Effect<{ readonly keys: ReadonlyArray<Key>; readonly result: A }, E, R>
) =>
  withLock(
    path,
    Effect.gen(function* () {
      const { keys, result } = yield* change(yield* readKeys(path))
      yield* writeAtomic(path, `${JSON.stringify(encode({ version: 1, keys }), null, 2)}\n`)
      return result
    })
  )
