/**
 * Follows the chains of usage records (usageChain) through any number of files, in any order, in bounded memory: rotated files,
 * restarts and several writers are links; a record that was changed, removed or moved is a break.
 */
import { type Head, headOf, type Link, lineDigest, linkOf, noDigest } from "../access/usageChain.ts"
import type { Place } from "./summary.ts"

export type BreakKind = "changed" | "missing" | "moved" | "unchained" | "damaged"

export interface Break {
  readonly kind: BreakKind
  readonly place: Place
  readonly instance?: string | undefined
  /** The record, or the first and the last that miss. */
  readonly seq?: number | undefined
  readonly through?: number | undefined
  readonly text: string
}

/** Records of a chain that follow one another. */
interface Run {
  readonly first: number
  readonly firstPrev: string
  readonly after: string | undefined
  readonly start: Place
  last: number
  digest: string
  end: Place
}

/** Digests of the records seen last, for repeats, and for anchors and links that come later. */
const windowSize = 1024

interface Recent {
  readonly seqs: Float64Array
  readonly digests: Array<string>
}
/** Chains whose last records are remembered: those that are written at the same time. */
const maxRecent = 128

interface ChainState {
  readonly instance: string
  /** Sorted, without overlaps. Intact, there is one. */
  runs: Array<Run>
  current: Run | undefined
  /** The last record in the file that is read. */
  inFile: { readonly file: string; seq: number } | undefined
  /** The log's heads that have not been compared, by number. */
  readonly anchors: Map<number, string>
  compared: number
  /** Where the log names the chain: as which of all heads, and the last one's line. */
  logged: { readonly first: number; last: number; place: Place } | undefined
  records: number
}

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
const maxChains = 10_000
const maxRuns = 1000
const maxAnchors = 1_000_000

const showPlace = ({ file, line }: Place): string => `${file}:${line}`
const range = (from: number, to: number): string => (from === to ? `record ${from}` : `records ${from} to ${to}`)

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
  const chains = new Map<string, ChainState>()
  const recent = new Map<string, Recent>()
  let latest: readonly [instance: string, Recent] | undefined
  const breaksAt: Array<Break> = []
  const open: Array<string> = []
  // Lines that do not parse, until a whole line shows that they were halves.
  let torn = 0
  let half: Place | undefined
  let breaks = 0
  let lines = 0
  let records = 0
  let repeated = 0
  let other = 0
  // Before the first chained record of a file: of a release without chains.
  let unchained = 0
  let chainedFile: string | undefined
  let anchors = 0

  const report = (found: Break) => {
    breaks++
    if (breaksAt.length < maxNamed) breaksAt.push(found)
  }

  const stateOf = (instance: string): ChainState | undefined => {
    const found = chains.get(instance)
    if (found !== undefined || chains.size >= maxChains) return found
    const state: ChainState = {
      instance,
      runs: [],
      current: undefined,
      inFile: undefined,
      anchors: new Map(),
      compared: 0,
      logged: undefined,
      records: 0
    }
    chains.set(instance, state)
    return state
  }

  /** The last records of a chain; those of the chain that was read longest ago are forgotten. */
  const recentOf = (instance: string): Recent => {
    if (latest?.[0] === instance) return latest[1]
    const found = recent.get(instance) ?? { seqs: new Float64Array(windowSize), digests: [] }
    recent.delete(instance)
    const oldest = recent.size < maxRecent ? undefined : recent.keys().next().value
    if (oldest !== undefined) recent.delete(oldest)
    recent.set(instance, found)
    latest = [instance, found]
    return found
  }
  const recentDigest = (instance: string, seq: number): string | undefined => {
    const found = recent.get(instance)
    return found?.seqs[seq % windowSize] === seq ? found.digests[seq % windowSize] : undefined
  }

  const compareAnchor = (state: ChainState, seq: number, digest: string, place: Place) => {
    const anchor = state.anchors.get(seq)
    if (anchor === undefined) return
    state.anchors.delete(seq)
    state.compared++
    if (anchor === digest) return
    const text = "is not what the log says it was: it, or one before it, was changed"
    report({ kind: "changed", place, instance: state.instance, seq, text })
  }

  /** Joins a run with the one that follows it. */
  const join = (state: ChainState, run: Run): Run => {
    const next = state.runs[state.runs.indexOf(run) + 1]
    if (next === undefined || next.first !== run.last + 1) return run
    if (next.firstPrev !== run.digest) changed(state, run, next.start)
    const joined: Run = { ...run, last: next.last, digest: next.digest, end: next.end }
    state.runs.splice(state.runs.indexOf(run), 2, joined)
    return joined
  }

  const changed = (state: ChainState, { end, last }: Pick<Run, "end" | "last">, next: Place) =>
    report({
      kind: "changed",
      place: end,
      instance: state.instance,
      seq: last,
      text: `is not the one that the next record (${showPlace(next)}) was linked to: it was changed, or the next one was`
    })

  const follow = (state: ChainState, link: Link, digest: string, place: Place) => {
    const { instance, seq } = link
    const slot = seq % windowSize
    const last = recentOf(instance)
    if (last.seqs[slot] === seq && last.digests[slot] === digest) {
      repeated++
      return
    }
    let run = state.current
    if (run?.last !== seq - 1) run = state.runs.find((other) => other.last === seq - 1)
    if (run === undefined) {
      const held = state.runs.find((other) => other.first <= seq && seq <= other.last)
      if (held !== undefined) {
        const text = `is there twice, with other contents or far apart (${showPlace(held.start)} ff.)`
        report({ kind: "moved", place, instance, seq, text })
        return
      }
    }
    const { inFile } = state
    if (inFile?.file === place.file) {
      if (seq < inFile.seq) {
        report({ kind: "moved", place, instance, seq, text: `stands after record ${inFile.seq}` })
      }
      inFile.seq = Math.max(seq, inFile.seq)
    } else state.inFile = { file: place.file, seq }
    compareAnchor(state, seq, digest, place)

    if (run === undefined) {
      if (state.runs.length >= maxRuns) {
        report({ kind: "missing", place, instance, seq, text: "stands alone, after too many gaps to follow" })
        return
      }
      const { after, prev } = link
      run = { first: seq, firstPrev: prev, after, start: place, last: seq, digest, end: place }
      const at = state.runs.findIndex(({ first }) => first > seq)
      state.runs.splice(at < 0 ? state.runs.length : at, 0, run)
    } else {
      if (run.digest !== link.prev) changed(state, run, place)
      run.last = seq
      run.digest = digest
      run.end = place
    }
    state.records++
    last.seqs[slot] = seq
    last.digests[slot] = digest
    state.current = state.runs.length > 1 ? join(state, run) : run
  }

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

  const add = (line: string | undefined, file: string, number: number) => {
    lines++
    if (line === "") return
    const place: Place = { file, line: number }
    let value: unknown
    try {
      if (line !== undefined) value = JSON.parse(line)
    } catch {
      value = undefined
    }
    if (line !== undefined && !line.startsWith("{")) {
      // The text of a log. Where it replaced a record, that one is missing.
      other++
      return
    }
    if (line === undefined || typeof value !== "object" || value === null) {
      settleHalf(false, file)
      half = place
      return
    }
    const link = linkOf(value)
    if (link === undefined) {
      settleHalf(false, file)
      if (!("time" in value && "outcome" in value)) {
        other++
        if (once(file)) anchor(line, file, number)
      } else if (file === chainedFile)
        report({ kind: "unchained", place, text: "is a record without a place in a chain" })
      else unchained++
      return
    }
    const known = half === undefined ? 0 : breaks
    records++
    chainedFile = file
    const state = stateOf(link.instance)
    if (state === undefined) {
      report({ kind: "missing", place, text: `is of more chains than the ${maxChains} that can be followed` })
      return
    }
    const gaps = state.runs.length
    follow(state, link, lineDigest(line), place)
    if (half !== undefined) settleHalf(breaks === known && state.runs.length <= Math.max(1, gaps), file)
  }

  const anchor = (line: string | undefined, file: string, number: number) => {
    if (line === undefined || !line.includes('"usage_digest"')) return
    let head: Head | undefined
    try {
      head = headOf(JSON.parse(line))
    } catch {
      return
    }
    const state = head === undefined || anchors >= maxAnchors ? undefined : stateOf(head.instance)
    if (head === undefined || state === undefined) return
    anchors++
    state.logged ??= { first: anchors, last: anchors, place: { file, line: number } }
    state.logged.last = anchors
    state.logged.place = { file, line: number }
    state.anchors.set(head.seq, head.digest)
    // On standard input the log cannot be read first.
    const seen = recentDigest(head.instance, head.seq)
    if (seen !== undefined && state.current !== undefined) compareAnchor(state, head.seq, seen, state.current.end)
  }

  const finish = (state: ChainState) => {
    const { anchors, instance, runs } = state
    for (const [at, run] of runs.entries()) {
      const next = runs[at + 1]
      if (next === undefined) continue
      report({
        kind: "missing",
        place: next.start,
        instance,
        seq: run.last + 1,
        through: next.first - 1,
        text: `should stand before it, after ${showPlace(run.end)}: removed, or in a file or standard error that was not given`
      })
    }
    const [first] = runs
    const last = runs.at(-1)
    const highest = anchors.keys().reduce((left, right) => Math.max(left, right), 0)
    if (first === undefined || last === undefined) {
      finishAbsent(state, highest)
      return
    }
    if (highest > last.last) {
      report({
        kind: "missing",
        place: last.end,
        instance,
        seq: last.last + 1,
        through: highest,
        text: `should follow it, says the log: removed, or in a file or standard error that was not given`
      })
    }
    const start = `chain ${instance} begins at ${showPlace(first.start)} with record ${first.first}`
    if (first.first > 1) open.push(`${start}: ${range(1, first.first - 1)} are in an earlier file, or were removed`)
    else if (first.after !== undefined) finishLink(state, first, first.after)
    else if (first.firstPrev !== noDigest) {
      const text = "is the first of its chain, but linked to another: it was changed"
      report({ kind: "changed", place: first.start, instance, seq: 1, text })
    }
  }

  /** A chain that the log alone has. What it names before the first chain that is there may be in earlier files. */
  const finishAbsent = ({ instance, logged }: ChainState, highest: number) => {
    if (logged === undefined) return
    const earlier = chains
      .values()
      .some((other) => other.records > 0 && (other.logged?.first ?? Infinity) < logged.last)
    if (!earlier) {
      open.push(
        `chain ${instance}: the log (${showPlace(logged.place)}) names ${range(1, highest)}, and no file given has any`
      )
      return
    }
    const text = "should be there, says this line of the log, but is in no file given: removed, or in standard error"
    report({ kind: "missing", place: logged.place, instance, seq: 1, through: highest, text })
  }

  /** The link of a process's first record to what stood before it in the file. */
  const finishLink = ({ instance }: ChainState, run: Run, after: string) => {
    const [, before = "", number = ""] = /^([0-9a-f]+):(\d+)$/.exec(after) ?? []
    const seq = Number(number)
    const earlier = chains.get(before)
    const last = earlier?.runs.at(-1)
    if (earlier === undefined || last === undefined) {
      open.push(
        `chain ${instance} (${showPlace(run.start)}) follows record ${seq} of chain ${before}, which is in an earlier file, or was removed`
      )
      return
    }
    if (seq > last.last) {
      report({
        kind: "missing",
        place: last.end,
        instance: before,
        seq: last.last + 1,
        through: seq,
        text: `stood after it when the next process started (${showPlace(run.start)}): removed, or in a file that was not given`
      })
      return
    }
    const digest = seq === last.last ? last.digest : recentDigest(before, seq)
    if (digest === undefined || digest === run.firstPrev) return
    const text = `is not the one that the next process started after (${showPlace(run.start)}): it was changed`
    report({ kind: "changed", place: last.end, instance: before, seq, text })
  }

  return {
    anchor,
    add,
    damage: (place) => report({ kind: "damaged", place, text: "cannot be read further" }),
    records: () => records,
    result: () => {
      settleHalf(false)
      for (const state of chains.values()) finish(state)
      return {
        lines,
        records,
        repeated,
        other,
        unchained,
        torn,
        open,
        breaks,
        breaksAt,
        chains: [...chains.values()].flatMap((state) => {
          const first = state.runs[0]
          const last = state.runs.at(-1)
          return first === undefined || last === undefined
            ? []
            : [
                {
                  instance: state.instance,
                  records: state.records,
                  first: first.first,
                  last: last.last,
                  digest: last.digest,
                  anchors: state.compared
                }
              ]
        })
      }
    }
  }
}
