import { type Flag, flagOf } from "./flags.ts"
import { maxDestinations, scanArguments, scanValue } from "./scan.ts"

/**
 * Collects the tool calls of one streamed reply and answers the flags that the same calls would get in one piece.
 * Not more than the calls' own text is kept. Mutable, for one stream.
 */
export interface Accumulator {
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
  /** The flags of all calls so far, completed or cut off, in the order in which they started. May be asked repeatedly. */
  readonly flags: () => ReadonlyArray<Flag>
}

interface Call {
  id: string
  name: string
  fragments: Array<string>
  inputs: Array<unknown>
  /** `undefined` until scanned, and again after a change. */
  destinations: ReadonlyArray<string> | undefined
}

const none: ReadonlyArray<Flag> = []

const destinationsOf = (call: Call): ReadonlyArray<string> => {
  if (call.destinations === undefined) {
    if (call.fragments.length > 1) call.fragments = [call.fragments.join("")]
    const found = new Set(call.inputs.flatMap(scanValue).concat(call.fragments.flatMap(scanArguments)))
    call.destinations = [...found].slice(0, maxDestinations)
  }
  return call.destinations
}

/** A fresh accumulator; costs nothing until a call starts. */
export const makeAccumulator = (): Accumulator => {
  const calls: Array<Call> = []
  const open = new Map<string | number, Call>()

  const begin = (key: string | number, id: string, name: string): Call => {
    const call: Call = { id, name, fragments: [], inputs: [], destinations: undefined }
    calls.push(call)
    open.set(key, call)
    return call
  }
  const at = (key: string | number): Call => open.get(key) ?? begin(key, "", "")

  return {
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
      call.destinations = undefined
    },
    input: (key, value) => {
      const call = at(key)
      call.inputs.push(value)
      call.destinations = undefined
    },
    complete: (key) => {
      const call = open.get(key)
      if (call !== undefined) destinationsOf(call)
    },
    flags: () => {
      if (calls.length === 0) return none
      return calls.flatMap((call) => flagOf(call.id, call.name, destinationsOf(call)) ?? [])
    }
  }
}
