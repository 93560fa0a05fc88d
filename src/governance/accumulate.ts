/** The flags of tool calls: of a whole reply, and of a streamed reply, whose calls are collected from their pieces. */
import type { Governance, GovernanceFlag } from "../contract/Governance.ts"
import { runNow, type Slices } from "../wire/slices.ts"
import { collectArguments, collectValue, type Found, makeCollector, type ScanMode } from "./scan.ts"

/** The flag for what was found in one call; undefined where nothing was (docs/api.md#governance-flag). */
const flagOf = (id: string, name: string, { destinations, omitted }: Found): GovernanceFlag | undefined =>
  destinations.length === 0
    ? undefined
    : {
        tool_call_id: id,
        tool_name: name,
        destinations,
        reason: "external_destination",
        ...(omitted === 0 ? {} : { truncated: true, omitted })
      }

/** A call of a whole reply: its arguments as JSON text, valid or not, or its input, already parsed. */
export type Called = { readonly id: string; readonly name: string } & (
  | { readonly arguments: string }
  | { readonly input: unknown }
)

/** `x_gateway_governance`; undefined where the field must be absent. */
export const governanceOf = (flags: ReadonlyArray<GovernanceFlag>): Governance | undefined =>
  flags.length === 0 ? undefined : { flags }

/**
 * A piece of a tool call in a frame of a streamed reply. `key` is the block's or the call's index, or the item's ID.
 *
 * - `start`: a call begins. Again with the same or an empty ID or name: fills in what was missing, since some streams send them
 *   late. Again with another ID: a new call takes the key.
 * - `append`: the next piece of the call's arguments. Pieces are joined without a separator.
 * - `repeat`: the call's arguments again, whole. Where they are others than the pieces, both count.
 * - `input`: the call's input in one piece, parsed. Counts in addition to pieces.
 * - `end`: the call is whole: a small one is scanned now rather than at the end. One that a later piece reopens is scanned again at the
 *   end only, so that no number of ends costs more than two scans.
 * - `whole`: a call that the reply's last frame repeats. What is flagged here is not flagged again under the same ID.
 */
export type CallPiece =
  | { readonly type: "start"; readonly key: string | number; readonly id: string; readonly name: string }
  | { readonly type: "append"; readonly key: string | number; readonly text: string }
  | { readonly type: "repeat"; readonly key: string | number; readonly text: string }
  | { readonly type: "input"; readonly key: string | number; readonly value: unknown }
  | { readonly type: "end"; readonly key: string | number }
  | { readonly type: "whole"; readonly call: Called }

interface Call {
  id: string
  name: string
  fragments: Array<string>
  inputs: Array<unknown>
  size: number
  /** `undefined` until scanned, and again after a change. */
  found: Found | undefined
  /** Whether it grew after it was scanned. */
  reopened: boolean
}

/** Most characters that are scanned in one step, which takes about a millisecond, and in strict mode three at most. */
const maxInOneStep = 4 * 1024
/** What a call costs beside its text, in characters. */
const perCall = 64
/** What a piece takes beside its text, in the same. */
const heldPerPiece = 16
/** What a call takes beside its texts, here and in the reader of the stream, in characters of about a byte. */
const heldPerCall = 512

function* foundIn(call: Call, mode: ScanMode): Slices<Found> {
  if (call.found !== undefined) return call.found
  if (call.fragments.length > 1) call.fragments = [call.fragments.join("")]
  const collector = makeCollector()
  for (const input of call.inputs) yield* collectValue(input, mode, collector)
  for (const text of call.fragments) yield* collectArguments(text, mode, collector)
  call.found = collector.found()
  return call.found
}

/**
 * Collects the tool calls of one streamed reply, and returns the flags that the same calls would get in a whole reply. It keeps only the
 * text of calls. Mutable, for one stream; costs nothing until a call starts.
 */
export const makeAccumulator = (mode: ScanMode = "spec") => {
  const calls: Array<Call> = []
  const repeated: Array<Call> = []
  const open = new Map<string | number, Call>()
  let held = 0

  const make = (id: string, name: string): Call => {
    held += heldPerCall + id.length + name.length
    return { id, name, fragments: [], inputs: [], size: 0, found: undefined, reopened: false }
  }
  const begin = (key: string | number, id: string, name: string): Call => {
    const call = make(id, name)
    calls.push(call)
    open.set(key, call)
    return call
  }
  const grow = (call: Call, size: number): void => {
    if (call.found !== undefined) call.reopened = true
    call.found = undefined
    call.size += size
    held += heldPerPiece + size
  }
  const flagsIn = (list: ReadonlyArray<Call>): ReadonlyArray<GovernanceFlag> =>
    list.flatMap((call) => flagOf(call.id, call.name, runNow(foundIn(call, mode))) ?? [])

  /** `size`: characters of the frame that carries the piece. */
  const add = (piece: CallPiece, size: number): void => {
    if (piece.type === "whole") {
      const { call } = piece
      const repeat = make(call.id, call.name)
      if ("input" in call) repeat.inputs.push(call.input)
      else repeat.fragments.push(call.arguments)
      grow(repeat, "input" in call ? size : call.arguments.length)
      repeated.push(repeat)
      return
    }
    if (piece.type === "append" && piece.text === "") return
    const call = open.get(piece.key)
    if (piece.type === "start") {
      const { id, key, name } = piece
      if (call === undefined || (id !== "" && call.id !== "" && id !== call.id)) begin(key, id, name)
      else {
        if (call.id === "") call.id = id
        if (call.name === "") call.name = name
      }
    } else if (piece.type === "end") {
      if (call !== undefined && !call.reopened && call.size <= maxInOneStep) runNow(foundIn(call, mode))
    } else if (piece.type === "repeat") {
      const before = call?.fragments.join("") ?? ""
      if (before === piece.text) return
      const repeat = call !== undefined && before === "" ? call : begin(piece.key, call?.id ?? "", call?.name ?? "")
      repeat.fragments.push(piece.text)
      grow(repeat, piece.text.length)
    } else {
      const known = call ?? begin(piece.key, "", "")
      if (piece.type === "input") known.inputs.push(piece.value)
      else known.fragments.push(piece.text)
      grow(known, piece.type === "input" ? size : piece.text.length)
    }
  }

  /**
   * The flags of all calls so far, completed or cut off: those that came whole, then the others in the order in which they started.
   * May be asked repeatedly.
   */
  const flags = (): ReadonlyArray<GovernanceFlag> => {
    const first = flagsIn(repeated)
    const known = new Set(first.map((flag) => flag.tool_call_id))
    return [...first, ...flagsIn(calls).filter((flag) => !known.has(flag.tool_call_id))]
  }

  return {
    add,
    /** Characters that are held, about. */
    held: () => held,
    /** Scans the calls that are not scanned yet, so that the flags take no time. */
    scan: function* (): Slices<void> {
      let size = 0
      for (const call of [...repeated, ...calls]) {
        if (call.found !== undefined) continue
        yield* foundIn(call, mode)
        size += call.size + perCall
        if (size <= maxInOneStep) continue
        size = 0
        yield
      }
    },
    flags,
    /** What the reply says of its calls so far. */
    governance: () => governanceOf(flags())
  }
}

export type Accumulator = ReturnType<typeof makeAccumulator>

export function* governanceOfCalls(calls: ReadonlyArray<Called>, mode: ScanMode): Slices<Governance | undefined> {
  if (calls.length === 0) return undefined
  const all = makeAccumulator(mode)
  for (const call of calls) all.add({ type: "whole", call }, 0)
  yield* all.scan()
  return all.governance()
}
