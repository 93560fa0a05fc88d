import { atOnce } from "../wire/slices.ts"
import { type Called, type Flag, flagOf, flagOfCall } from "./flags.ts"
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
  /** Any of the steps below. */
  readonly take: (piece: CallPiece) => void
  /**
   * A call begins under `key` (the block's or the call's index, or the item's ID). Again with the same or an empty ID or
   * name: fills in what was missing, since some streams send them late. Again with another ID: a new call takes the key.
   */
  readonly start: (key: string | number, id: string, name: string) => void
  /** The next piece of the call's arguments. Pieces are joined without a separator. */
  readonly append: (key: string | number, fragment: string) => void
  /** The call's input in one piece, parsed. Counts in addition to pieces. */
  readonly input: (key: string | number, value: unknown) => void
  /** The call is whole: scan it now rather than at the end. Optional; a later piece makes it count as unscanned again. */
  readonly complete: (key: string | number) => void
  /** A call in one piece, beside those that came in pieces: what is flagged here is not flagged again under the same ID. */
  readonly whole: (call: Called) => void
  /** The flags of all calls so far, completed or cut off: those that came whole, then the others in the order in which they started. May be asked repeatedly. */
  readonly flags: () => ReadonlyArray<Flag>
}

interface Call {
  id: string
  name: string
  fragments: Array<string>
  inputs: Array<unknown>
  /** `undefined` until scanned, and again after a change. */
  found: Found | undefined
}

const none: ReadonlyArray<Flag> = []

const foundIn = (call: Call, mode: ScanMode): Found => {
  if (call.found === undefined) {
    if (call.fragments.length > 1) call.fragments = [call.fragments.join("")]
    const collector = makeCollector()
    for (const input of call.inputs) atOnce(collectValue(input, mode, collector))
    for (const text of call.fragments) atOnce(collectArguments(text, mode, collector))
    call.found = collector.found()
  }
  return call.found
}

/** A fresh accumulator; costs nothing until a call starts. */
export const makeAccumulator = (mode: ScanMode = "spec"): Accumulator => {
  const calls: Array<Call> = []
  const repeated: Array<Flag> = []
  const open = new Map<string | number, Call>()

  const begin = (key: string | number, id: string, name: string): Call => {
    const call: Call = { id, name, fragments: [], inputs: [], found: undefined }
    calls.push(call)
    open.set(key, call)
    return call
  }
  const at = (key: string | number): Call => open.get(key) ?? begin(key, "", "")

  const accumulator: Accumulator = {
    take: (piece) => {
      switch (piece.type) {
        case "start":
          return accumulator.start(piece.key, piece.id, piece.name)
        case "append":
          return accumulator.append(piece.key, piece.text)
        case "input":
          return accumulator.input(piece.key, piece.value)
        case "end":
          return accumulator.complete(piece.key)
        case "whole":
          return accumulator.whole(piece.call)
      }
    },
    whole: (call) => {
      const flag = atOnce(flagOfCall(call, mode))
      if (flag !== undefined) repeated.push(flag)
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
      call.found = undefined
    },
    input: (key, value) => {
      const call = at(key)
      call.inputs.push(value)
      call.found = undefined
    },
    complete: (key) => {
      const call = open.get(key)
      if (call !== undefined) foundIn(call, mode)
    },
    flags: () => {
      if (calls.length === 0) return repeated.length === 0 ? none : repeated
      const known = new Set(repeated.map((flag) => flag.tool_call_id))
      const others = calls.flatMap((call) => flagOf(call.id, call.name, foundIn(call, mode)) ?? [])
      return [...repeated, ...others.filter((flag) => !known.has(flag.tool_call_id))]
    }
  }
  return accumulator
}
