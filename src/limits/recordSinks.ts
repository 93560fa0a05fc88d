/** How lines of records are appended to a file, a pipe or standard output. */
import * as fs from "node:fs"
import { open } from "node:fs/promises"
import { Effect, FileSystem, Option } from "effect"
import { fileError } from "./files.ts"

/** Writes lines after what was written before, or fails. Takes off those that are written: only what is left is written again. */
export type Sink = (lines: Array<string>) => Effect.Effect<void, { readonly message: string }>

/** The text at the end of a file; empty where there is none. A pipe or terminal has none, and is not read. */
export const endOf = (file: string, bytes: number): Effect.Effect<string, never, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const { size, type } = yield* fileSystem.stat(file)
    if (type !== "File") return ""
    const opened = yield* fileSystem.open(file)
    yield* opened.seek(BigInt(Math.max(0, Number(size) - bytes)), "start")
    return new TextDecoder().decode(Option.getOrUndefined(yield* opened.readAlloc(bytes)))
  }).pipe(
    Effect.scoped,
    Effect.orElseSucceed(() => "")
  )

/** Node's own stream would block the process while the reader of a pipe is stalled; this blocks a thread of the pool at most. */
const writeTo = (fd: number) => (bytes: Uint8Array) =>
  Effect.callback<number, { readonly message: string }>((resume) => {
    fs.write(fd, bytes, (error, written) => {
      if (error === null) resume(Effect.succeed(written))
      else resume(error.code === "EAGAIN" ? Effect.succeed(0) : Effect.fail(error))
    })
  })

/** The first line, and those behind it that fit with it into `most` bytes. */
const firstOf = (lines: ReadonlyArray<string>, most: number): Uint8Array => {
  let size = 0
  const count = lines.findIndex((line) => {
    size += Buffer.byteLength(line)
    return size > most
  })
  return Buffer.from(lines.slice(0, count === -1 ? lines.length : Math.max(count, 1)).join(""))
}

/**
 * Several processes may share a pipe, which keeps only writes of at most 4096 bytes (PIPE_BUF) in one piece: whole lines up
 * to that go together, and a line that is longer goes alone.
 */
const writeLines = Effect.fnUntraced(function* <E>(
  write: (bytes: Uint8Array) => Effect.Effect<number, E>,
  lines: Array<string>,
  most = 4096
) {
  /** Bytes of the first line that are written. */
  let begun = 0
  const writeSome = Effect.suspend(() => write(firstOf(lines, most).subarray(begun)))
  while (lines.length > 0) {
    const written = yield* Effect.tapError(writeSome, () =>
      Effect.sync(() => {
        // Half a line must not swallow the next record.
        if (begun > 0) lines[0] = `\n${lines[0]}`
      })
    )
    if (written === 0) yield* Effect.sleep("10 millis")
    begun += written
    while (lines[0] !== undefined && begun >= Buffer.byteLength(lines[0])) {
      begun -= Buffer.byteLength(lines[0])
      lines.shift()
    }
  }
})

export const stdoutSink: Sink = (lines) => writeLines(writeTo(1), lines)

/** A thread that waits for the reader of a pipe, to come or to read, would keep the process beyond its end. */
const writePipe = (file: string, lines: Array<string>) =>
  Effect.acquireUseRelease(
    Effect.tryPromise(() => open(file, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK)),
    ({ fd }) => writeLines(writeTo(fd), lines),
    (handle) => Effect.promise(() => handle.close())
  )

/**
 * Appends. The file is opened for each batch, so that one that was moved away for rotation is made again. Mode 0600. Fails where it
 * cannot be opened now; a pipe may get its reader later.
 */
export const fileSink = Effect.fnUntraced(function* (file: string) {
  const fileSystem = yield* FileSystem.FileSystem
  const typeNow = Effect.match(fileSystem.stat(file), { onFailure: () => "File", onSuccess: ({ type }) => type })
  const lastCharacter = Effect.provideService(endOf(file, 1), FileSystem.FileSystem, fileSystem)
  const sink: Sink = Effect.fnUntraced(function* (lines) {
    if ((yield* typeNow) === "FIFO") return yield* writePipe(file, lines)
    const opened = yield* fileSystem.open(file, { flag: "a", mode: 0o600 })
    // Another process that was killed, or a full disk, may have left half a line.
    const isEnded = ["", "\n"].includes(yield* lastCharacter) || lines[0]?.startsWith("\n") === true
    if (!isEnded) yield* opened.write(Buffer.from("\n"))
    yield* writeLines((bytes) => opened.write(bytes), lines, Number.POSITIVE_INFINITY)
  }, Effect.scoped)
  const type = yield* typeNow
  if (type === "File" || type === "Directory") yield* Effect.mapError(sink([]), fileError("write", file))
  return sink
})
