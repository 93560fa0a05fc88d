/** Usage records from files, archives (`.gz`) and standard input (`-`), line by line, in bounded memory. */
import { constants, createReadStream, openSync, statSync } from "node:fs"
import { Socket } from "node:net"
import { resolve } from "node:path"
import { pipeline, type Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, FileSystem, Stream } from "effect"
import { fileError } from "../../limits/files.ts"
import { getOrInsert } from "../../wire/getOrInsert.ts"
import { fail, OperatorError } from "../../wire/OperatorError.ts"

/** A longer line is no record. Our longest is a few kilobytes. */
export const longestLine = 1_048_576

const lineFeed = 10

/** `take` gets each line without its line feed, counted from 1; undefined for one that is too long. */
export const makeLines = (take: (line: string | undefined, number: number) => void) => {
  const decoder = new TextDecoder()
  // The beginning of a line whose end has not come; of one that is too long, its length only.
  let pieces: Array<Uint8Array> = []
  let length = 0
  let count = 0

  const keep = (bytes: Uint8Array) => {
    length += bytes.length
    if (length > longestLine) pieces = []
    else if (bytes.length > 0) pieces.push(bytes)
  }
  const flush = () => {
    take(length > longestLine ? undefined : decoder.decode(Buffer.concat(pieces)), ++count)
    pieces = []
    length = 0
  }

  return {
    push: (bytes: Uint8Array): void => {
      let from = 0
      for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, from)) {
        keep(bytes.subarray(from, end))
        flush()
        from = end + 1
      }
      keep(bytes.subarray(from))
    },
    /** What stands after the last line feed is a line too. */
    end: (): void => {
      if (length > 0) flush()
    },
    count: () => count
  }
}

const pieceBytes = 262_144
const isArchive = (file: string): boolean => file.endsWith(".gz")

const open = (file: string): Readable => {
  if (file === "-") return process.stdin
  const bytes = statSync(file).isFIFO()
    ? // A thread that waits for the writer of a pipe would keep the process beyond Ctrl-C.
      new Socket({ fd: openSync(file, constants.O_RDONLY | constants.O_NONBLOCK), readable: true, writable: false })
    : createReadStream(file, { highWaterMark: pieceBytes })
  // A failure of either ends both.
  return isArchive(file) ? pipeline(bytes, createGunzip({ chunkSize: pieceBytes }), () => {}) : bytes
}

export interface Place {
  readonly file: string
  readonly line: number
}
export const showPlace = ({ file, line }: Place): string => `${file}:${line}`

interface Reader<A> {
  readonly line: (line: string | undefined, place: Place) => void
  /** An archive that is cut or damaged ends there. */
  readonly damage: (place: Place) => void
  readonly result: () => A
}

/** Each file once, and all of them there. `once`: those that can be read but once. */
export const checkFiles = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const byPath = new Map<string, string>()
  for (const name of names) getOrInsert(byPath, name === "-" ? name : resolve(name), () => name)
  const files = [...byPath.values()]
  const once = new Set(["-"])
  for (const file of files.filter((name) => name !== "-")) {
    const { type } = yield* Effect.mapError(fs.stat(file), (error) =>
      error.reason._tag === "NotFound"
        ? new OperatorError({ message: `${file} does not exist` })
        : fileError("read", file)(error)
    )
    if (type === "Directory") return yield* fail(`${file} is a directory; name files, such as ${file}/*.jsonl`)
    if (type !== "File") once.add(file)
  }
  return { files, once }
})

const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))

/** Gives every line of the files to the reader, in memory that does not grow with them, and returns its result. */
export const readFiles = Effect.fnUntraced(function* <A>(files: ReadonlyArray<string>, reader: Reader<A>) {
  for (const file of files) {
    const lines = makeLines((line, number) => reader.line(line, { file, line: number }))
    yield* Effect.try({ try: () => open(file), catch: asError }).pipe(
      Stream.fromEffect,
      Stream.flatMap((readable) =>
        NodeStream.fromReadable<Uint8Array, Error>({ evaluate: () => readable, onError: asError, chunkSize: 1 })
      ),
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
  return reader.result()
})
