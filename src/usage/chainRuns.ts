/** Which records of a chain follow one another: its runs, in whatever order they are read, in bounded memory. */
import type { Head, Link } from "../access/usageChain.ts"
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

/** The record that a process's first one names, and what is known of it then: at the end it may be forgotten. */
export interface Before extends Pick<Head, "instance" | "seq"> {
  readonly digest: string | undefined
  readonly place: Place | undefined
}

/** Records of a chain that follow one another. */
export interface Run {
  readonly first: number
  readonly firstPrev: string
  readonly after: string | undefined
  readonly before: Before | undefined
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
  /** The log's heads of these records. */
  readonly compared: Array<Pick<Head, "digest" | "seq">>
}
/** Chains whose last records are remembered: those that are written at the same time. */
const maxRecent = 128

export interface ChainState {
  readonly instance: string
  /** Sorted, without overlaps. Intact, there is one. */
  readonly runs: Array<Run>
  current: Run | undefined
  /** The last record in the file that is read. */
  inFile: { readonly file: string; seq: number } | undefined
  /** The log's heads that have not been compared, by number. */
  readonly anchors: Map<number, string>
  /** How many of those that have been hold. */
  held: number
  /** Where the log names the chain: as which of all heads, and the last one's line. */
  logged: { readonly first: number; last: number; place: Place } | undefined
  records: number
}

export const maxChains = 10_000
const maxRuns = 1000
const maxAnchors = 1_000_000

export const showPlace = ({ file, line }: Place): string => `${file}:${line}`

export const runOf = (runs: ReadonlyArray<Run>, seq: number): Run | undefined =>
  runs.find(({ first, last }) => first <= seq && seq <= last)

/** A record that the next one was not linked to. */
const unlinked = (instance: string, { end, last }: Run, next: Place): Break => ({
  kind: "changed",
  place: end,
  instance,
  seq: last,
  text: `is not the one that the next record (${showPlace(next)}) was linked to: it was changed, or the next one was`
})

/** All chains, as far as they were read. */
export class Chains {
  readonly states = new Map<string, ChainState>()
  repeated = 0
  private readonly recent = new Map<string, Recent>()
  private latest: readonly [instance: string, Recent] | undefined
  private anchors = 0
  private readonly report: (found: Break) => void

  constructor(report: (found: Break) => void) {
    this.report = report
  }

  /** Undefined for more chains than can be followed. */
  stateOf(instance: string): ChainState | undefined {
    const found = this.states.get(instance)
    if (found !== undefined || this.states.size >= maxChains) return found
    const state: ChainState = {
      instance,
      runs: [],
      current: undefined,
      inFile: undefined,
      anchors: new Map(),
      held: 0,
      logged: undefined,
      records: 0
    }
    this.states.set(instance, state)
    return state
  }

  /** The digest of a record that was seen lately. */
  recentDigest(instance: string, seq: number): string | undefined {
    const found = this.recent.get(instance)
    return found?.seqs[seq % windowSize] === seq ? found.digests[seq % windowSize] : undefined
  }

  /** Takes the next record that was read. */
  follow(state: ChainState, link: Link, digest: string, place: Place): void {
    const { instance, seq } = link
    const slot = seq % windowSize
    const recent = this.recentOf(instance)
    if (recent.seqs[slot] === seq && recent.digests[slot] === digest) {
      this.repeated++
      return
    }
    let run = state.current
    if (run?.last !== seq - 1) run = state.runs.find((other) => other.last === seq - 1)
    if (run === undefined) {
      const held = runOf(state.runs, seq)
      if (held !== undefined) {
        const text = `is there twice, with other contents or far apart (${showPlace(held.start)} ff.)`
        this.report({ kind: "moved", place, instance, seq, text })
        return
      }
    }
    const { inFile } = state
    if (inFile?.file === place.file) {
      if (seq < inFile.seq) {
        this.report({ kind: "moved", place, instance, seq, text: `stands after record ${inFile.seq}` })
      }
      inFile.seq = Math.max(seq, inFile.seq)
    } else state.inFile = { file: place.file, seq }
    this.compare(state, seq, digest, place)

    if (run === undefined) {
      if (state.runs.length >= maxRuns) {
        this.report({ kind: "missing", place, instance, seq, text: "stands alone, after too many gaps to follow" })
        return
      }
      const { after, prev } = link
      const before = this.before(after)
      run = { first: seq, firstPrev: prev, after, before, start: place, last: seq, digest, end: place }
      const at = state.runs.findIndex(({ first }) => first > seq)
      state.runs.splice(at < 0 ? state.runs.length : at, 0, run)
    } else {
      if (run.digest !== link.prev) this.report(unlinked(instance, run, place))
      run.last = seq
      run.digest = digest
      run.end = place
    }
    state.records++
    recent.seqs[slot] = seq
    recent.digests[slot] = digest
    state.current = state.runs.length > 1 ? this.join(state, run) : run
  }

  /** Takes a head that the log names. */
  anchor({ digest, instance, seq }: Head, place: Place): void {
    const state = this.anchors < maxAnchors ? this.stateOf(instance) : undefined
    if (state === undefined) return
    this.anchors++
    state.logged ??= { first: this.anchors, last: this.anchors, place }
    state.logged.last = this.anchors
    state.logged.place = place
    const seen = this.recentDigest(instance, seq)
    const compared = this.recent.get(instance)?.compared[seq % windowSize]
    const earlier = seen !== undefined && compared?.seq === seq ? compared.digest : state.anchors.get(seq)
    if (earlier !== undefined) {
      const text = "has another digest in an earlier line of the log: one of the two lines was changed"
      if (earlier !== digest) this.report({ kind: "changed", place, instance, seq, text })
      return
    }
    state.anchors.set(seq, digest)
    // On standard input the log cannot be read first.
    if (seen !== undefined && state.current !== undefined) this.compare(state, seq, seen, state.current.end)
  }

  private before(after = ""): Before | undefined {
    const [, instance, number] = /^([0-9a-f]{1,64}):([1-9]\d*)$/.exec(after) ?? []
    const seq = Number(number)
    if (instance === undefined || !Number.isSafeInteger(seq)) return undefined
    return { instance, seq, digest: this.recentDigest(instance, seq), place: this.states.get(instance)?.current?.end }
  }

  /** The last records of a chain; those of the chain that was read longest ago are forgotten. */
  private recentOf(instance: string): Recent {
    if (this.latest?.[0] === instance) return this.latest[1]
    const found = this.recent.get(instance) ?? { seqs: new Float64Array(windowSize), digests: [], compared: [] }
    this.recent.delete(instance)
    const oldest = this.recent.size < maxRecent ? undefined : this.recent.keys().next().value
    if (oldest !== undefined) this.recent.delete(oldest)
    this.recent.set(instance, found)
    this.latest = [instance, found]
    return found
  }

  /** Holds a record against what the log says of it. */
  private compare(state: ChainState, seq: number, digest: string, place: Place): void {
    const anchor = state.anchors.get(seq)
    if (anchor === undefined) return
    state.anchors.delete(seq)
    this.recentOf(state.instance).compared[seq % windowSize] = { seq, digest: anchor }
    const text = "is not what the log says it was: it, or one before it, was changed"
    if (anchor === digest) state.held++
    else this.report({ kind: "changed", place, instance: state.instance, seq, text })
  }

  /** Joins a run with the one that follows it. */
  private join({ instance, runs }: ChainState, run: Run): Run {
    const at = runs.indexOf(run)
    const next = runs[at + 1]
    if (next === undefined || next.first !== run.last + 1) return run
    if (next.firstPrev !== run.digest) this.report(unlinked(instance, run, next.start))
    const joined: Run = { ...run, last: next.last, digest: next.digest, end: next.end }
    runs.splice(at, 2, joined)
    return joined
  }
}
