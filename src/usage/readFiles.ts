/** Usage records from files, archives (`.gz`) and standard input (`-`), line by line. */
import { createReadStream } from "node:fs"
import { resolve } from "node:path"
import type { Readable } from "node:stream"
import { pipeline } from "node:stream"
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
  if (!isArchive(file)) return bytes
  const text = createGunzip({ chunkSize: pieceBytes })
  // Either's failure is the archive's.
  pipeline(bytes, text, () => {})
  return text
}

export interface Reader {
  readonly line: (line: string | undefined, file: string, number: number) => void
  /** An archive that is cut or damaged ends there. */
  readonly damage: (place: Place) => void
  /** After each piece: bytes read so far, of plain files. */
  readonly progress: (bytes: number) => void
}

/**
 * Each file once, and all of them there. `size`: of all together, undefined where that says nothing; `once`: those that can be
 * read but once.
 */
export const checkFiles = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const paths = names.map((name) => (name === "-" ? name : resolve(name)))
  const files = names.filter((_, at) => paths.indexOf(paths[at] ?? "") === at)
  const once = new Set(["-"])
  const sizes = yield* Effect.forEach(files, (file) =>
    file === "-"
      ? Effect.succeed(Number.NaN)
      : fs.stat(file).pipe(
          Effect.mapError(({ reason }) => `${file} ${reason._tag === "NotFound" ? "does not exist" : reason.message}`),
          Effect.filterOrFail(
            ({ type }) => type !== "Directory",
            () => `${file} is a directory; name files, such as ${file}/*.jsonl`
          ),
          Effect.mapError((message) => new FileError({ message })),
          Effect.map(({ size, type }) => {
            if (type !== "File") once.add(file)
            return isArchive(file) || type !== "File" ? Number.NaN : Number(size)
          })
        )
  )
  const size = sizes.reduce((sum, each) => sum + each, 0)
  return { files, once, size: Number.isNaN(size) ? undefined : size }
})

/** Gives every line of the files to the reader, in memory that does not grow with them. */
export const readFiles = (files: ReadonlyArray<string>, reader: Reader) =>
  Effect.suspend(() => {
    let read = 0
    return Effect.forEach(
      files,
      (file) => {
        const lines = makeLines((line, number) => reader.line(line, file, number))
        return NodeStream.fromReadable<Uint8Array, Error>({
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
          Effect.tap(() => Effect.sync(lines.end)),
          Effect.catch((error) => {
            if (!isArchive(file))
              return Effect.fail(new FileError({ message: `cannot read ${file}: ${error.message}` }))
            // What came of its last line is damaged, too.
            return Effect.sync(() => reader.damage({ file, line: lines.count() + 1 }))
          })
        )
      },
      { discard: true }
    )
  })
