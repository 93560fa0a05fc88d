/**
 * Files that are replaced as a whole, and never seen half written; disks that fail are called so: full, over their quota, read-only
 * or broken.
 */
import { existsSync, mkdirSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { Context, Effect, FileSystem, Metric, Option, Schedule, Schema } from "effect"
import { type RegularFile, readRegular } from "../regularFile.ts"
import { fail, inSetting, OperatorError, rephrase } from "../wire/OperatorError.ts"
import { parseFile } from "../wire/parse.ts"
import { inOneTurn, inSlices, pause } from "../wire/slices.ts"

const failures = Metric.counter("gateway_disk_failures_total", {
  description: "Writes that a disk refused, by what was written (`use`) and by why: full, quota, read-only, io",
  incremental: true
})

const full = { reason: "full", words: "the disk is full" }
const broken = { reason: "io", words: "the disk has failed" }
/** By the system's code, and by SQLite's primary one. */
const faults: Readonly<Record<string, typeof full>> = {
  ENOSPC: full,
  EDQUOT: { reason: "quota", words: "the disk quota is used up" },
  EROFS: { reason: "read-only", words: "the file system is read-only" },
  EIO: broken,
  8: { reason: "read-only", words: "the file or its file system is read-only" },
  10: broken,
  13: full
}

/** The system's code of an error, or SQLite's primary one. */
export const codeOf = (cause: unknown): unknown => {
  if (typeof cause !== "object" || cause === null) return undefined
  if ("errcode" in cause) return Number(cause.errcode) & 0xff
  return "code" in cause ? cause.code : "cause" in cause ? codeOf(cause.cause) : undefined
}

const faultOf = (cause: unknown) => faults[String(codeOf(cause))]

/** What an error says, and in plain words, where a disk or a pipe without a reader is behind it. */
export const writeProblem = (cause: unknown): string => {
  // What the system says is in the cause of Effect's own words.
  if (cause instanceof Error && cause.cause instanceof Error) return writeProblem(cause.cause)
  const message = typeof cause === "object" && cause !== null && "message" in cause ? cause.message : cause
  const words = codeOf(cause) === "ENXIO" ? "nothing reads it" : faultOf(cause)?.words
  return words === undefined ? String(message) : `${words}: ${message}`
}

/** Counts a write that failed, where a disk is behind it. `use` is what was written. */
export const countDiskFailure = (use: "state" | "usage-log", cause: unknown): void => {
  const fault = faultOf(cause)
  if (fault === undefined) return
  Metric.withAttributes(failures, { use, reason: fault.reason }).updateUnsafe(1, Context.empty())
}

export const fileError = (action: string, path: string) => (cause: { readonly message: string }) => {
  const isHomeless = codeOf(cause) === "ENOENT" && !existsSync(dirname(path))
  const why = isHomeless ? `the folder ${dirname(path)} does not exist. Make it first.` : writeProblem(cause)
  return new OperatorError({ message: `cannot ${action} ${path}: ${why}` })
}

/** What a schema says over several lines. */
export const oneLine = (message: string): string => message.replace(/\s*\n\s*/g, " ")

/**
 * Makes a folder of this user's alone, and those above it, where they are missing. Node's own `recursive` never ends below a folder
 * such as /proc, which says of every new name that there is no such folder.
 */
export const makeFolder = (path: string): void => {
  const above = dirname(path)
  if (!existsSync(above)) makeFolder(above)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have made it at the same time.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}

/** Undefined when there is no such file. */
const read = (path: string): Effect.Effect<RegularFile | undefined, OperatorError> =>
  readRegular(path).pipe(
    Effect.catchIf(
      ({ isMissing }) => isMissing,
      () => Effect.undefined
    ),
    Effect.mapError(fileError("read", path))
  )

/** The text of a file; undefined when there is none. */
export const readIfExists = (path: string) => Effect.map(read(path), (file) => file?.bytes.toString("utf8"))

export const isWritableByOthers = (mode: number): boolean => (mode & 0o022) !== 0
export const octalMode = (mode: number): string => (mode & 0o777).toString(8).padStart(4, "0")

/** Fails for a file that decides who may do what, where others than its owner may change it. */
const requireOwned = (path: string, { mode }: RegularFile): Effect.Effect<void, OperatorError> =>
  isWritableByOthers(mode)
    ? fail(
        `${path} may be written by others than its owner (mode ${octalMode(mode)}). Check what it says, then: chmod go-w ${path}`
      )
    : Effect.void

/** The text of such a file; undefined when there is none. */
export const readOwned = Effect.fnUntraced(function* (path: string) {
  const file = yield* read(path)
  if (file !== undefined) yield* requireOwned(path, file)
  return file?.bytes.toString("utf8")
})

/** Where a file is that another names, from its own folder. */
export const beside = (path: string, name: string): string => resolve(dirname(path), name)

/** The bytes of such a file that another names; `unreadable` puts a reason in words. */
export const readOwnedBeside = Effect.fnUntraced(function* (
  path: string,
  name: string,
  unreadable: (why: string) => string
) {
  const at = beside(path, name)
  const file = yield* rephrase(readRegular(at), unreadable)
  yield* requireOwned(at, file)
  return file.bytes
})

/** The same of one that a setting names. */
export const readSet = (path: string, setting: string) => rephrase(readOwned(path), inSetting(setting))

/** The same, where it must exist. */
export const readNamed = (path: string, setting: string): Effect.Effect<string, OperatorError> =>
  Effect.filterOrFail(
    readSet(path, setting),
    (text) => text !== undefined,
    () => new OperatorError({ message: `${setting}: ${path} does not exist. Name another, or unset it` })
  )

/** An entry of a list that may be long: a place where others may have their turn. */
export const entryOf = <S extends Schema.Constraint>(schema: S) =>
  Schema.middlewareDecoding<S, S["DecodingServices"]>((decoded) => {
    const wait = pause()
    return wait === undefined ? decoded : Effect.andThen(wait, decoded)
  })(schema)

/** Reads the text of a JSON file that decides who may do what, as a setting names it. `what`: what it is. */
export const parser = <A>(schema: Schema.Codec<A, unknown>, setting: string, what: string, advice = "") => {
  // A misspelt restriction must not be read as none, so unknown fields are refused.
  const decode = Schema.decodeUnknownEffect(schema, { onExcessProperty: "error" })
  return (path: string, text: string) => {
    const refuse = (why: string) =>
      new OperatorError({ message: `${setting}: ${path} is not ${what}: ${oneLine(why)}${advice}` })
    return inSlices(parseFile(text)).pipe(
      Effect.flatMap(Effect.fromResult),
      Effect.flatMap((json) => Effect.flatten(inOneTurn(() => decode(json)))),
      Effect.mapError((problem) => (typeof problem === "string" ? problem : problem.message)),
      Effect.mapError(refuse)
    )
  }
}

const isRoot = process.getuid?.() === 0

/** Gives a file to an owner and a group; the owner is root's to change. Asked for only where it changes something: not all file systems can. */
const giveTo = Effect.fnUntraced(function* (path: string, to: FileSystem.File.Info) {
  const fs = yield* FileSystem.FileSystem
  const now = yield* fs.stat(path)
  const uid = Option.getOrUndefined(isRoot ? to.uid : now.uid)
  const gid = Option.getOrUndefined(to.gid)
  if (uid === undefined || gid === undefined) return
  if (uid === Option.getOrUndefined(now.uid) && gid === Option.getOrUndefined(now.gid)) return
  const advice = `it is to stay with its group ${gid}: run this as a member of that group, or as root`
  yield* Effect.mapError(
    fs.chown(path, uid, gid),
    (cause) => new OperatorError({ message: `${advice} (${writeProblem(cause)})` })
  )
})

/**
 * Replaces a file in one step: readers see the old text or the new one. Who may read it stays as it was: a service may run as
 * another user than its operator. A new file is its owner's alone (mode 0600).
 */
export const writeAtomic = Effect.fnUntraced(function* (path: string, text: string) {
  const fs = yield* FileSystem.FileSystem
  const temporary = `${path}.${crypto.randomUUID()}.tmp`
  const before = yield* Effect.option(fs.stat(path))
  const write = Effect.gen(function* () {
    const file = yield* fs.open(temporary, { flag: "wx", mode: 0o600 })
    yield* file.writeAll(new TextEncoder().encode(text))
    yield* file.sync
    if (Option.isNone(before)) return
    yield* giveTo(temporary, before.value)
    if ((before.value.mode & 0o777) !== 0o600) yield* fs.chmod(temporary, before.value.mode & 0o777)
  })
  yield* Effect.scoped(write).pipe(
    Effect.andThen(fs.rename(temporary, path)),
    Effect.onError(() => Effect.ignore(fs.remove(temporary))),
    Effect.mapError(fileError("write", path))
  )
})

/** What root has just made is its folder's owner's, as SQLite does it: a service must be able to write on in it. */
export const giveToFolder = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  if (isRoot) yield* giveTo(path, yield* fs.stat(dirname(path)))
})

/**
 * Runs `effect` while no other process does so for the same file; waits 5 s for one that does. The lock is a file beside it,
 * so a process that was killed leaves it behind: the error says so. `setting` names the file.
 */
export const withLock = Effect.fnUntraced(function* <A, E, R>(
  path: string,
  setting: string,
  effect: Effect.Effect<A, E, R>
) {
  const fs = yield* FileSystem.FileSystem
  const lock = `${path}.lock`
  const acquire = fs.writeFileString(lock, "", { flag: "wx", mode: 0o600 }).pipe(
    Effect.retry({
      while: (error) => error.reason._tag === "AlreadyExists",
      schedule: Schedule.spaced("20 millis").pipe(Schedule.upTo({ duration: "5 seconds" }))
    }),
    Effect.catch((error) =>
      error.reason._tag === "AlreadyExists"
        ? fail(`${path} is being changed by another command. If none is running, remove ${lock} and try again.`)
        : Effect.fail(fileError("write", path)(error))
    )
  )
  return yield* Effect.acquireUseRelease(
    rephrase(acquire, inSetting(setting)),
    () => effect,
    () => Effect.ignore(fs.remove(lock))
  )
})
