/** How lines of records are appended to a file, a pipe or standard output. */
import * as fs from "node:fs"
import { open } from "node:fs/promises"
import { Effect, FileSystem, Option } from "effect"
import { fileError } from "./files.ts"

/** Writes text after what was written before, or fails. */
export type Sink = (text: string) => Effect.Effect<void, { readonly message: string }>

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
const writeBytes = (fd: number, bytes: Uint8Array): Effect.Effect<void, { readonly message: string }> =>
  Effect.callback<number, { readonly message: string }>((resume) => {
    fs.write(fd, bytes, (error, written) => {
      if (error === null) resume(Effect.succeed(written))
      else resume(error.code === "EAGAIN" ? Effect.succeed(0) : Effect.fail(error))
    })
  }).pipe(
    Effect.tap((written) => (written === 0 ? Effect.interruptible(Effect.sleep("10 millis")) : Effect.void)),
    Effect.flatMap((written) => (written < bytes.length ? writeBytes(fd, bytes.subarray(written)) : Effect.void))
  )

/**
 * Several processes may share the pipe, which keeps only writes of at most 4096 bytes (PIPE_BUF) in one piece: whole lines up
 * to that go together, and a line that is longer goes alone.
 */
const writeLines = (fd: number, text: string) => {
  const pieces: Array<string> = []
  for (const line of text.split(/(?<=\n)/)) {
    const longer = (pieces.at(-1) ?? "") + line
    if (pieces.length > 0 && Buffer.byteLength(longer) <= 4096) pieces.splice(-1, 1, longer)
    else pieces.push(line)
  }
  return Effect.forEach(pieces, (piece) => writeBytes(fd, new TextEncoder().encode(piece)), { discard: true })
}

export const stdoutSink: Sink = (text) => writeLines(1, text)

/** A thread that waits for the reader of a pipe, to come or to read, would keep the process beyond its end. */
const writePipe = (file: string, text: string) =>
  Effect.acquireUseRelease(
    Effect.tryPromise(() => open(file, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK)),
    ({ fd }) => writeLines(fd, text),
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
  const sink: Sink = Effect.fnUntraced(function* (text) {
    if ((yield* typeNow) === "FIFO") return yield* writePipe(file, text)
    // Another process that was killed, or a full disk, may have left half a line.
    const torn = ["", "\n"].includes(yield* lastCharacter) ? "" : "\n"
    yield* fileSystem.writeFileString(file, torn + text, { flag: "a", mode: 0o600 })
  })
  const type = yield* typeNow
  if (type === "File" || type === "Directory") yield* Effect.mapError(sink(""), fileError("write", file))
  return sink
})
