import { atOnce, type Slices } from "../wire/slices.ts"
import { type Called, type Flag, flagOf } from "./flags.ts"
import { type Found, makeCollector } from "./found.ts"
import { collectArguments, collectValue, type ScanMode } from "./scan.ts"

/** What a frame of a streamed reply tells of its tool calls. `key` is the block's or the call's index, or the item's ID. */
export type CallPiece =
  | { readonly type: "start"; readonly key: string | number; readonly id: string; readonly name: string }
  | { readonly type: "append"; readonly key: string | number; readonly text: string }
  | { readonly type: "input"; readonly key: string | number; readonly value: unknown }
  | { readonly type: "end"; readonly key: string | number }
  /** A call that the reply's last frame repeats whole. */
  | { readonly type: "whole"; readonly call: Called }

/**
 * Collects the tool calls of one streamed reply and answers the flags that the same calls would get in one piece.
 * Not more than the calls' own text is kept. Mutable, for one stream.
 */
export interface Accumulator {
  /** Any of the steps below. `size` is how large what tells it is, in characters. */
  readonly take: (piece: CallPiece, size: number) => void
  /**
   * A call begins under `key` (the block's or the call's index, or the item's ID). Again with the same or an empty ID or
   * name: fills in what was missing, since some streams send them late. Again with another ID: a new call takes the key.
   */
  readonly start: (key: string | number, id: string, name: string) => void
  /** The next piece of the call's arguments. Pieces are joined without a separator. */
  readonly append: (key: string | number, fragment: string) => void
  /** The call's input in one piece, parsed. Counts in addition to pieces. */
  readonly input: (key: string | number, value: unknown, size?: number) => void
  /** The call is whole: a small one is scanned now rather than at the end. Optional; a later piece makes it count as unscanned again. */
  readonly complete: (key: string | number) => void
  /** A call in one piece, beside those that came in pieces: what is flagged here is not flagged again under the same ID. */
  readonly whole: (call: Called, size?: number) => void
  /** Characters that are kept, about. */
  readonly kept: () => number
  /** Whether scanning what is still to be scanned would hold up other requests. */
  readonly heavy: () => boolean
  /** Scans it, so that the flags are there. */
  readonly scan: () => Slices<void>
  /** The flags of all calls so far, completed or cut off: those that came whole, then the others in the order in which they started. May be asked repeatedly. */
  readonly flags: () => ReadonlyArray<Flag>
}

interface Call {
  id: string
  name: string
  fragments: Array<string>
  inputs: Array<unknown>
  size: number
  /** `undefined` until scanned, and again after a change. */
  found: Found | undefined
}

const none: ReadonlyArray<Flag> = []

/** Characters that are scanned at once: about a millisecond, at most a few. */
const light = 64 * 1024

function* foundIn(call: Call, mode: ScanMode): Slices<Found> {
  if (call.found !== undefined) return call.found
  if (call.fragments.length > 1) call.fragments = [call.fragments.join("")]
  const collector = makeCollector()
  for (const input of call.inputs) yield* collectValue(input, mode, collector)
  for (const text of call.fragments) yield* collectArguments(text, mode, collector)
  call.found = collector.found()
  return call.found
}

/** A fresh accumulator; costs nothing until a call starts. */
export const makeAccumulator = (mode: ScanMode = "spec"): Accumulator => {
  const calls: Array<Call> = []
  const repeated: Array<Call> = []
  const open = new Map<string | number, Call>()
  let kept = 0

  const make = (id: string, name: string): Call => {
    kept += id.length + name.length
    return { id, name, fragments: [], inputs: [], size: 0, found: undefined }
  }
  const begin = (key: string | number, id: string, name: string): Call => {
    const call = make(id, name)
    calls.push(call)
    open.set(key, call)
    return call
  }
  const at = (key: string | number): Call => open.get(key) ?? begin(key, "", "")
  const grow = (call: Call, size: number): void => {
    call.found = undefined
    call.size += size
    kept += size
  }
  const unscanned = (list: ReadonlyArray<Call>): number =>
    list.reduce((sum, { found, size }) => (found === undefined ? sum + size : sum), 0)
  const flagsIn = (list: ReadonlyArray<Call>): ReadonlyArray<Flag> =>
    list.flatMap((call) => flagOf(call.id, call.name, atOnce(foundIn(call, mode))) ?? [])

  const accumulator: Accumulator = {
    take: (piece, size) => {
      switch (piece.type) {
        case "start":
          return accumulator.start(piece.key, piece.id, piece.name)
        case "append":
          return accumulator.append(piece.key, piece.text)
        case "input":
          return accumulator.input(piece.key, piece.value, size)
        case "end":
          return accumulator.complete(piece.key)
        case "whole":
          return accumulator.whole(piece.call, size)
      }
    },
    whole: (called, size = 0) => {
      const call = make(called.id, called.name)
      if ("input" in called) call.inputs.push(called.input)
      else call.fragments.push(called.arguments)
      grow(call, "input" in called ? size : called.arguments.length)
      repeated.push(call)
    },
    start: (key, id, name) => {
      const call = open.get(key)
      if (call === undefined || (id !== "" && call.id !== "" && id !== call.id)) {
        begin(key, id, name)
        return
      }
      if (call.id === "") call.id = id
      if (call.name === "") call.name = name
    },
    append: (key, fragment) => {
      if (fragment === "") return
      const call = at(key)
      call.fragments.push(fragment)
      grow(call, fragment.length)
    },
    input: (key, value, size = 0) => {
      const call = at(key)
      call.inputs.push(value)
      grow(call, size)
    },
    complete: (key) => {
      const call = open.get(key)
      if (call !== undefined && call.size <= light) atOnce(foundIn(call, mode))
    },
    kept: () => kept,
    heavy: () => unscanned(repeated) + unscanned(calls) > light,
    scan: function* () {
      for (const call of repeated) yield* foundIn(call, mode)
      for (const call of calls) yield* foundIn(call, mode)
    },
    flags: () => {
      if (calls.length === 0 && repeated.length === 0) return none
      const first = flagsIn(repeated)
      const known = new Set(first.map((flag) => flag.tool_call_id))
      return [...first, ...flagsIn(calls).filter((flag) => !known.has(flag.tool_call_id))]
    }
  }
  return accumulator
}
