/** Files that operators give: keys, the catalog, certificates. */
import { constants, type Stats } from "node:fs"
import { open } from "node:fs/promises"
import { Data, Effect } from "effect"

/** The message is the reason, without the file's name. */
class UnreadableFile extends Data.Error<{
  readonly message: string
  /** The system's, such as `ENOENT`, or one of ours. */
  readonly code: string
}> {
  get isMissing(): boolean {
    return this.code === "ENOENT"
  }
}

export interface RegularFile {
  readonly bytes: Buffer
  readonly mode: Stats["mode"]
}

/** The largest that is read, in bytes, and the longest that reading may take, in milliseconds. */
const largest = 64 * 1024 * 1024
const patience = 5_000

const notRegular = new UnreadableFile({ message: "it is no regular file", code: "NOT_REGULAR" })
const late = new UnreadableFile({ message: `it was not read within ${patience / 1000} seconds`, code: "LATE" })
const tooLarge = new UnreadableFile({ message: `it has more than ${largest / 1024 ** 2} MiB`, code: "TOO_LARGE" })

const problemOf = (cause: unknown): UnreadableFile => {
  if (cause instanceof UnreadableFile) return cause
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "UNKNOWN"
  // A socket.
  if (code === "ENXIO") return notRegular
  const message = code === "ENOENT" ? "there is no such file" : cause instanceof Error ? cause.message : String(cause)
  return new UnreadableFile({ message, code })
}

/** To open a FIFO without `O_NONBLOCK` would wait for a writer, in one of the few threads that all files share. */
const read = async (path: string): Promise<RegularFile> => {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const info = await file.stat()
    if (!info.isFile()) throw notRegular
    if (info.size > largest) throw tooLarge
    const bytes = await file.readFile()
    // Some file systems say a size of 0.
    if (bytes.length > largest) throw tooLarge
    return { bytes, mode: info.mode }
  } finally {
    await file.close()
  }
}

/** Fails when the time is over, by the system's clock; the read continues. */
const inTime = <A>(reading: Promise<A>): Promise<A> => {
  const { promise: over, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(reject, patience, late)
  return Promise.race([reading, over]).finally(() => clearTimeout(timer))
}

/** Reads in progress that are late. Until one ends, no other read of the file begins, because it would take another thread. */
const stuck = new Map<string, Promise<void>>()

const readInTime = async (path: string): Promise<RegularFile> => {
  await inTime(stuck.get(path) ?? Promise.resolve())
  const reading = read(path)
  try {
    return await inTime(reading)
  } catch (cause) {
    const forget = () => void stuck.delete(path)
    if (cause === late) stuck.set(path, reading.then(forget, forget))
    throw cause
  }
}

/** A file's content, of a regular file only, also behind links: reading a FIFO or a device might never end. */
export const readRegular = (path: string): Effect.Effect<RegularFile, UnreadableFile> =>
  Effect.tryPromise({ try: () => readInTime(path), catch: problemOf })

/** The same as text. */
export const readRegularText = (path: string): Effect.Effect<string, UnreadableFile> =>
  Effect.map(readRegular(path), ({ bytes }) => bytes.toString("utf8"))
