/** Usage records from files, archives (`.gz`) and standard input (`-`), line by line. */
import { createReadStream } from "node:fs"
import { resolve } from "node:path"
import { pipeline, type Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, FileSystem, Stream } from "effect"
import { FileError } from "../access/files.ts"
import { makeLines } from "./lines.ts"
import type { Place } from "./summary.ts"

const pieceBytes = 262_144
const isArchive = (file: string): boolean => file.endsWith(".gz")

const open = (file: string): Readable => {
  if (file === "-") return process.stdin
  const bytes = createReadStream(file, { highWaterMark: pieceBytes })
  // A failure of either ends both.
  return isArchive(file) ? pipeline(bytes, createGunzip({ chunkSize: pieceBytes }), () => {}) : bytes
}

export interface Reader {
  readonly line: (line: string | undefined, file: string, number: number) => void
  /** An archive that is cut or damaged ends there. */
  readonly damage: (place: Place) => void
  /** After each piece: bytes read so far, of plain files. */
  readonly progress: (bytes: number) => void
}

/** The size of a file, undefined where it cannot be compared with the bytes read, and whether it can be read but once. */
const inspect = Effect.fnUntraced(function* (file: string) {
  if (file === "-") return { once: true, size: undefined }
  const { size, type } = yield* (yield* FileSystem.FileSystem).stat(file).pipe(
    Effect.mapError(({ reason }) => `${file} ${reason._tag === "NotFound" ? "does not exist" : reason.message}`),
    Effect.filterOrFail(
      ({ type }) => type !== "Directory",
      () => `${file} is a directory; name files, such as ${file}/*.jsonl`
    ),
    Effect.mapError((message) => new FileError({ message }))
  )
  const once = type !== "File"
  return { once, size: once || isArchive(file) ? undefined : Number(size) }
})

/** Each file once, and all of them there. `size`: of all together; `once`: those that can be read but once. */
export const checkFiles = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const paths = names.map((name) => (name === "-" ? name : resolve(name)))
  const files = names.filter((_, at) => paths.indexOf(paths[at] ?? "") === at)
  const inspected = yield* Effect.forEach(files, inspect)
  const size = inspected.reduce((sum, { size = Number.NaN }) => sum + size, 0)
  const once = new Set(files.filter((_, at) => inspected[at]?.once))
  return { files, once, size: Number.isNaN(size) ? undefined : size }
})

/** Gives every line of the files to the reader, in memory that does not grow with them. Answers how many bytes there were. */
export const readFiles = Effect.fnUntraced(function* (files: ReadonlyArray<string>, reader: Reader) {
  let read = 0
  for (const file of files) {
    const lines = makeLines((line, number) => reader.line(line, file, number))
    yield* NodeStream.fromReadable<Uint8Array, Error>({
      evaluate: () => open(file),
      onError: (error) => (error instanceof Error ? error : new Error(String(error))),
      chunkSize: 1
    }).pipe(
      Stream.runForEach((bytes) =>
        Effect.sync(() => {
          lines.push(bytes)
          read += bytes.length
          reader.progress(read)
        })
      ),
      Effect.andThen(Effect.sync(lines.end)),
      Effect.catch(({ message }) =>
        isArchive(file)
          ? // What came of its last line is damaged, too.
            Effect.sync(() => reader.damage({ file, line: lines.count() + 1 }))
          : Effect.fail(new FileError({ message: `cannot read ${file}: ${message}` }))
      )
    )
  }
  return read
})
