/** Usage records from files, archives (`.gz`) and standard input (`-`), line by line. */
import { createReadStream } from "node:fs"
import { resolve } from "node:path"
import { pipeline, type Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, FileSystem, Stream } from "effect"
import { getOrInsert } from "../../wire/getOrInsert.ts"
import { fail, OperatorError } from "../../wire/OperatorError.ts"
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
}

/** Each file once, and all of them there. `once`: those that can be read but once. */
export const checkFiles = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const byPath = new Map<string, string>()
  for (const name of names) getOrInsert(byPath, name === "-" ? name : resolve(name), () => name)
  const files = [...byPath.values()]
  const once = new Set(["-"])
  for (const file of files.filter((name) => name !== "-")) {
    const { type } = yield* Effect.mapError(
      fs.stat(file),
      ({ reason }) =>
        new OperatorError({ message: `${file} ${reason._tag === "NotFound" ? "does not exist" : reason.message}` })
    )
    if (type === "Directory") {
      return yield* fail(`${file} is a directory; name files, such as ${file}/*.jsonl`)
    }
    if (type !== "File") once.add(file)
  }
  return { files, once }
})

/** Gives every line of the files to the reader, in memory that does not grow with them. */
export const readFiles = Effect.fnUntraced(function* (files: ReadonlyArray<string>, reader: Reader) {
  for (const file of files) {
    const lines = makeLines((line, number) => reader.line(line, file, number))
    yield* NodeStream.fromReadable<Uint8Array, Error>({
      evaluate: () => open(file),
      onError: (error) => (error instanceof Error ? error : new Error(String(error))),
      chunkSize: 1
    }).pipe(
      Stream.runForEach((bytes) => Effect.sync(() => lines.push(bytes))),
      Effect.andThen(Effect.sync(lines.end)),
      Effect.catch(({ message }) =>
        isArchive(file)
          ? // What came of its last line is damaged, too.
            Effect.sync(() => reader.damage({ file, line: lines.count() + 1 }))
          : fail(`cannot read ${file}: ${message}`)
      )
    )
  }
})
