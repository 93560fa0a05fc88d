/**
 * Who holds a key, and what the key may use (docs/api.md#authentication, docs/decisions.md#keys). Keys outlive their file for a
 * time: a file that is gone or broken may hide a revocation (docs/operation.md#keys).
 */
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import { Clock, Context, DateTime, Duration, Effect, Layer, Metric, Result, Schedule } from "effect"
import { GatewayError, type Refusal } from "../catalog/GatewayError.ts"
import type { Level } from "../catalog/names.ts"
import { type CallerIdentity, isCallerId } from "../contract/Security.ts"
import { watchFile } from "../watchFile.ts"
import { fail } from "../wire/OperatorError.ts"
import { steadyMillis } from "../wire/steady.ts"
import { emptyBook, type Key, type KeyBook, matches, parseBook, readKeyFile, type Team } from "./KeyFile.ts"
import { callerOf, callerTitle } from "./limits.ts"
import { RefusedKeys } from "./replicas.ts"

const up = Metric.gauge("gateway_keys_file_up", {
  description: "Whether the keys in force are those of the key file: 0 while it is gone or broken"
})

/**
 * Takes, after every look at the file, whether it could be read and used. `use` ends all keys when the grace is over, and restores
 * those that were read last; who is refused without one stays so.
 */
export const makeGrace = (file: string, grace: Duration.Duration, use: (ended: boolean) => Effect.Effect<void>) => {
  let brokenSince: number | undefined
  let ended = false
  const show = (value: number) => up.updateUnsafe(value, Context.empty())
  show(1)
  return Effect.fnUntraced(function* (ok: boolean) {
    const now = yield* steadyMillis
    show(ok ? 1 : 0)
    brokenSince = ok ? undefined : (brokenSince ?? now)
    const over = brokenSince !== undefined && now - brokenSince >= Duration.toMillis(grace)
    if (over === ended) return
    ended = over
    yield* use(ended)
    yield* ended
      ? Effect.logError(`The API keys have ended: for ${Duration.format(grace)} ${file} could not be read or used.`)
      : Effect.logInfo(`${file} can be read again, and its API keys work again.`)
  })
}

/** The message is the same for all of them. */
const unauthenticated = (why: Refusal, id?: string) =>
  Result.fail(
    new GatewayError({
      reason: "unauthenticated",
      message: "The API key is missing or invalid. Send your key in the header x-api-key.",
      refused: { why, id }
    })
  )

interface Requested {
  readonly model: { readonly id: string }
  readonly level: Level
}

/** Fails with `forbidden` where a caller may not use a model at a level, and names what it may use. */
export const permits = (
  caller: CallerIdentity,
  { level, model: { id: base } }: Requested
): Result.Result<void, GatewayError> => {
  const refuse = (what: string, allowed: ReadonlyArray<string>) =>
    Result.fail(
      new GatewayError({
        reason: "forbidden",
        message: `${callerTitle(caller)} may not use ${what}. It may use: ${allowed.join(", ")}. Ask the operator for more.`
      })
    )
  if (caller.models !== undefined && !caller.models.some((pattern) => matches(pattern, base))) {
    return refuse(`the model ${base}`, caller.models)
  }
  if (caller.levels !== undefined && !caller.levels.includes(level)) return refuse(`the level ${level}`, caller.levels)
  return Result.void
}

/** Which IDs a caller may use: the filter for lists. */
export const mayUse =
  (caller: CallerIdentity) =>
  (requested: Requested): boolean =>
    Result.isSuccess(permits(caller, requested))

export const digestOf = (secret: string): string => hash("sha256", secret, "hex")
export const newSecret = (): string => `gmg_${randomBytes(32).toString("base64url")}`

interface Secret {
  readonly key: Key
  readonly caller: CallerIdentity
  /** The digest's hex, as bytes. */
  readonly digest: Buffer
  /** Until when it works, in milliseconds since the epoch. */
  readonly until: number
}

const whyOver = ({ key, until }: Secret, digest: string, now: number, isRefused: boolean): Refusal => {
  const { disabled, previous, revoked } = key
  if (isRefused || (previous?.digest === digest && now >= DateTime.toEpochMillis(previous.until))) return "rotated"
  if (revoked === undefined && disabled !== undefined) return "disabled"
  // The store refuses a key that the file does not yet.
  return revoked !== undefined || now < until ? "revoked" : "expired"
}

/** A book, since when it is in force, and what requests look up in it. */
const indexOf = (book: KeyBook, credentials: WeakMap<CallerIdentity, string>) => {
  const teams = new Map<string | undefined, Team>(book.teams.map((team) => [team.name, team]))
  const secrets = new Map<string, Secret>()
  for (const key of book.keys) {
    const add = (digest: string, until: number) => {
      const caller = callerOf(key.id, key.name, key, teams.get(key.team))
      credentials.set(caller, digest)
      secrets.set(digest, { key, caller, digest: Buffer.from(digest), until })
    }
    const end = key.expires === undefined ? Number.POSITIVE_INFINITY : DateTime.toEpochMillis(key.expires)
    const until = key.disabled === undefined && key.revoked === undefined ? end : 0
    add(key.digest, until)
    if (key.previous !== undefined)
      add(key.previous.digest, Math.min(until, DateTime.toEpochMillis(key.previous.until)))
  }
  return { book, since: Date.now(), secrets, callers: new Map(book.callers?.map((caller) => [caller.id, caller])) }
}

/** What an unknown secret is compared with, so that it takes the same work. */
const noDigest = Buffer.from(digestOf(""))

interface KeysOptions {
  /** The key file (`GATEWAY_KEYS_FILE`). */
  readonly file: string
  /** How long the keys outlive a file that is gone or broken (`GATEWAY_KEYS_GRACE`); default 10 minutes. */
  readonly grace?: Duration.Duration | undefined
  /** Whether `sandbox-key` works too: a key without limits, which stands in no file. */
  readonly sandbox?: boolean | undefined
}

/** Between two looks at the file, and at the keys that the store refuses: a revoked key stops working within it. */
const poll = "1 second"

const sandboxKey = (now: DateTime.Utc): Key => {
  const digest = digestOf("sandbox-key")
  return { id: "sandbox", name: "sandbox", digest, created: now, acknowledged: now }
}

/** Those who wait for the end of their access. */
export const makeAccess = () => {
  const waiting = new Set<{ readonly holds: (now: number) => boolean; readonly end: () => void }>()
  return {
    /** `end` is called at the first check at which it does not hold; `now` is in milliseconds since the epoch. Returns how to unsubscribe. */
    onEnd: (holds: (now: number) => boolean, end: () => void) => {
      const entry = { holds, end }
      waiting.add(entry)
      return () => void waiting.delete(entry)
    },
    check: Effect.map(Clock.currentTimeMillis, (now) => {
      for (const entry of waiting) {
        if (entry.holds(now)) continue
        waiting.delete(entry)
        entry.end()
      }
    })
  }
}

const make = (initial: KeyBook) => {
  /** Digests of the secrets that callers have sent, also of callers of an earlier book whose streams still run. */
  const credentials = new WeakMap<CallerIdentity, string>()
  let index = indexOf(initial, credentials)
  let refused: ReadonlySet<string> = new Set()
  const works = ({ key, until }: Secret, digest: string, now: number) =>
    now < until && !refused.has(digest) && !refused.has(key.id)
  const access = makeAccess()

  /**
   * The key that has this secret. Every failure is the same error (`unauthenticated`), and takes the same work: a digest, one lookup
   * and one comparison in constant time. The secret is neither kept nor logged. `now` is in milliseconds since the epoch.
   */
  const authenticate = (presented: string, now: number): Result.Result<CallerIdentity, GatewayError> => {
    const digest = digestOf(presented)
    const found = index.secrets.get(digest)
    const same = timingSafeEqual(Buffer.from(digest), found?.digest ?? noDigest)
    if (!same || found === undefined) return unauthenticated(presented === "" ? "missing" : "unknown")
    const { caller, key } = found
    if (works(found, digest, now)) return Result.succeed(caller)
    return unauthenticated(whyOver(found, digest, now, refused.has(digest)), key.id)
  }

  /** Why the caller without a key that has this ID is refused; undefined where it is not. */
  const refusalOf = (id: string): Refusal | undefined => {
    const known = index.callers.get(id)
    if (known === undefined) return refused.has(id) ? "revoked" : undefined
    return known.revoked === undefined ? "disabled" : "revoked"
  }
  /** What gives the caller its access: the same for all requests with one secret, or of one caller without a key. */
  const credentialOf = (caller: CallerIdentity): string => credentials.get(caller) ?? caller.id
  const holds = (credential: string, now: number): boolean => {
    const secret = index.secrets.get(credential)
    if (secret !== undefined) return works(secret, credential, now)
    return isCallerId(credential) && refusalOf(credential) === undefined
  }

  /** `end` is called, within a poll, when that is revoked, expired, rotated or removed, so that running streams can be ended. */
  const onEnd = (credential: string, end: () => void): (() => void) =>
    access.onEnd((now) => holds(credential, now), end)

  const replace = (book: KeyBook) =>
    Effect.suspend(() => {
      index = indexOf(book, credentials)
      return access.check
    })
  const refuse = (ids: ReadonlySet<string>): void => {
    refused = ids
  }
  /** The keys and teams that are in force, and since when (milliseconds since the epoch). */
  const inForce = () => ({ ...index.book, since: index.since })
  return {
    service: { authenticate, refusalOf, credentialOf, onEnd, inForce },
    refuse,
    replace,
    check: access.check
  }
}

export class Keys extends Context.Service<Keys, ReturnType<typeof make>["service"]>()("gateway/limits/Keys") {
  /**
   * The keys of a file, which is read again as long as the layer lives. A missing file is no keys, with a warning; a broken one
   * fails the layer at the start. Later it is ignored, with an error line, until the grace is over: then no key works.
   */
  static readonly layer = ({ file, grace = Duration.minutes(10), sandbox = false }: KeysOptions) =>
    Layer.effect(
      Keys,
      Effect.gen(function* () {
        const text = yield* readKeyFile(file)
        let known = text === undefined ? emptyBook : yield* parseBook(file, text)

        const own = sandbox ? [sandboxKey(yield* DateTime.now)] : []
        const inForce = (book: KeyBook) => ({ ...book, keys: [...own, ...book.keys] })
        const { check, refuse, replace, service } = make(inForce(known))
        const use = (book: KeyBook) => replace(inForce(book))
        if (text === undefined && !sandbox) {
          yield* Effect.logWarning(
            `There are no API keys: ${file} does not exist. Create a key: npm run gateway -- keys create --name NAME`
          )
        }
        yield* watchFile({
          kind: "keys",
          path: file,
          version: (latest) => latest,
          read: readKeyFile(file),
          initial: text,
          every: poll,
          take: Effect.fnUntraced(function* (latest) {
            if (latest === undefined) return yield* fail(`${file} is gone`)
            known = yield* parseBook(file, latest)
            yield* Effect.logInfo(`API keys read from ${file}`).pipe(Effect.annotateLogs({ keys: known.keys.length }))
            yield* use(known)
          }),
          complaint: (message) =>
            `${message}. The API keys that were read before stay in force for ${Duration.format(grace)}, unless the file is fixed.`,
          looked: makeGrace(file, grace, (ended) => use(ended ? { ...known, keys: [] } : known))
        })
        // Keys expire without a change of the file, and are refused before it says so.
        const { list } = yield* RefusedKeys
        // Where the store is lost, what it said before holds.
        const look = Effect.ignore(Effect.map(list, refuse))
        yield* Effect.andThen(look, check).pipe(Effect.repeat(Schedule.spaced(poll)), Effect.forkScoped)
        return service
      })
    )
}
