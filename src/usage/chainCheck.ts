/**
 * Reads the lines of usage records, and checks their chains (usageChain): any number of files, in any order, in bounded memory.
 * Rotated files, restarts and several writers are links; a record that was changed, removed or moved is a break.
 */
import { headOf, type Link, lineDigest, linkOf } from "../access/usageChain.ts"
import { type JsonObject, readObject } from "../wire/json.ts"
import { gapsOf } from "./chainGaps.ts"
import { type Break, type ChainState, Chains, maxChains, showPlace } from "./chainRuns.ts"
import type { Place } from "./summary.ts"

export type { Break, BreakKind } from "./chainRuns.ts"

export interface ChainReport {
  readonly instance: string
  readonly records: number
  readonly first: number
  readonly last: number
  readonly digest: string
  /** Heads of the log that hold. */
  readonly anchors: number
}

export interface Verdict {
  readonly lines: number
  readonly records: number
  /** Written twice after a failed write: not a break. */
  readonly repeated: number
  readonly other: number
  /** Records without a chain that stand before the first one with, in their file: of an older release. */
  readonly unchained: number
  /** Halves of lines that a failed write left, whose record follows: not a break. */
  readonly torn: number
  readonly chains: ReadonlyArray<ChainReport>
  /** Not breaks, but what only other files could prove. */
  readonly open: ReadonlyArray<string>
  readonly breaks: number
  /** The first ones. */
  readonly breaksAt: ReadonlyArray<Break>
}

const maxNamed = 20

const reportOf = ({ held, instance, records, runs }: ChainState): ReadonlyArray<ChainReport> => {
  const [first] = runs
  const last = runs.at(-1)
  return first === undefined || last === undefined
    ? []
    : [{ instance, records, first: first.first, last: last.last, digest: last.digest, anchors: held }]
}

export interface ChainChecking {
  /** A line of a log, read before the records are. */
  readonly anchor: (line: string | undefined, file: string, number: number) => void
  readonly add: (line: string | undefined, file: string, number: number) => void
  readonly damage: (place: Place) => void
  readonly records: () => number
  readonly result: () => Verdict
}

/** `once`: whether a file can be read but once, so that log lines in it come among the records. */
export const makeChainChecking = (once: (file: string) => boolean = () => true): ChainChecking => {
  const breaksAt: Array<Break> = []
  const open: Array<string> = []
  // Lines that do not parse, until a whole line shows that they were halves.
  let torn = 0
  let half: Place | undefined
  let breaks = 0
  let lines = 0
  let records = 0
  let other = 0
  // Before the first chained record of a file: of a release without chains.
  let unchained = 0
  let chainedFile: string | undefined

  const report = (found: Break) => {
    breaks++
    if (breaksAt.length < maxNamed) breaksAt.push(found)
  }
  const chains = new Chains(report)

  /**
   * Half a line was torn by a failed write if what follows goes on with the chain; else it was damaged. At the end of a file,
   * what follows may be in another.
   */
  const settleHalf = (whole: boolean, file?: string) => {
    if (half === undefined) return
    if (whole) torn++
    else if (half.file !== file) {
      open.push(`${showPlace(half)} is half a line at the end of a file: its record is in another, or was cut`)
    } else report({ kind: "damaged", place: half, text: "is no whole line" })
    half = undefined
  }

  const addRecord = (line: string, link: Link, place: Place) => {
    const known = breaks
    records++
    chainedFile = place.file
    const state = chains.stateOf(link.instance)
    if (state === undefined) {
      report({ kind: "missing", place, text: `is of more chains than the ${maxChains} that can be followed` })
      return
    }
    const gaps = state.runs.length
    chains.follow(state, link, lineDigest(line), place)
    settleHalf(breaks === known && state.runs.length <= Math.max(1, gaps), place.file)
  }

  const addUnchained = (line: string, value: JsonObject, place: Place) => {
    if (!("time" in value && "outcome" in value)) {
      other++
      if (once(place.file)) anchor(line, place.file, place.line)
    } else if (place.file === chainedFile) {
      report({ kind: "unchained", place, text: "is a record without a place in a chain" })
    } else unchained++
  }

  const add = (line: string | undefined, file: string, number: number) => {
    lines++
    if (line === "") return
    if (line !== undefined && !line.startsWith("{")) {
      // The text of a log. Where it replaced a record, that one is missing.
      other++
      return
    }
    const place: Place = { file, line: number }
    const value = line === undefined ? undefined : readObject(line)
    const link = linkOf(value)
    if (line !== undefined && link !== undefined) return addRecord(line, link, place)
    settleHalf(false, file)
    if (line === undefined || value === undefined) half = place
    else addUnchained(line, value, place)
  }

  const anchor = (line: string | undefined, file: string, number: number) => {
    if (line === undefined || !line.includes('"usage_digest"')) return
    const head = headOf(readObject(line))
    if (head !== undefined) chains.anchor(head, { file, line: number })
  }

  return {
    anchor,
    add,
    damage: (place) => report({ kind: "damaged", place, text: "cannot be read further" }),
    records: () => records,
    result: () => {
      settleHalf(false)
      for (const found of gapsOf(chains)) {
        if (typeof found === "string") open.push(found)
        else report(found)
      }
      return {
        lines,
        records,
        repeated: chains.repeated,
        other,
        unchained,
        torn,
        open,
        breaks,
        breaksAt,
        chains: [...chains.states.values()].flatMap(reportOf)
      }
    }
  }
}
