/** Which records of a chain follow one another: its runs, in any order of reading, in bounded memory. */
import type { Head, Link } from "../../limits/usageChain.ts"
import { type Place, showPlace } from "./readFiles.ts"

export interface Break {
  readonly kind: "changed" | "missing" | "moved" | "unchained" | "unsigned" | "damaged"
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

export interface Run {
  readonly first: number
  readonly firstPrev: string
  readonly after: string | undefined
  readonly before: Before | undefined
  readonly start: Place
  last: number
  digest: string
  end: Place
  /** The last that is a signature of what stands before it; 0 where none is. */
  signed: number
}

/** The records of a chain that were read last, by number, each with the log's head of it: for what names them later. */
type Recent = Map<number, { readonly digest: string; head?: string }>
const maxRecent = 1024
/** Chains whose last records are remembered: those that are written at the same time. */
const maxRecentChains = 128

export interface Chain {
  readonly instance: string
  /** Sorted, without overlaps. Intact, there is one. */
  readonly runs: Array<Run>
  /** Where a record was read last, and the highest number so far in that file. */
  latest: { readonly place: Place; readonly seq: number } | undefined
  /** The log's heads that have not been compared, by number. */
  readonly heads: Map<number, string>
  /** How many of those that were compared match. */
  matched: number
  /** Where the log names the chain: as which of all heads, and the last one's line. */
  logged: { readonly first: number; readonly last: number; readonly place: Place } | undefined
  records: number
  /** The last record that signs what stands before it; `last` where its process wrote no more. */
  signed: { readonly seq: number; readonly last: boolean } | undefined
  /** From the signature before a record that was changed to that record: what a later one does not prove. */
  readonly changed: Array<{ readonly after: number; through: number }>
}

export const maxChains = 10_000
const maxRuns = 1000
const maxHeads = 1_000_000

export const runOf = ({ runs }: Pick<Chain, "runs">, seq: number): Run | undefined =>
  runs.find(({ first, last }) => first <= seq && seq <= last)

/** What no later signature proves, because it was linked to another record than this one. */
export const markChanged = (chain: Chain, seq: number): void => {
  const { signed = 0 } = runOf(chain, seq) ?? {}
  const after = signed < seq ? signed : seq - 1
  const latest = chain.changed.at(-1)
  if (latest?.after === after) latest.through = Math.max(latest.through, seq)
  else chain.changed.push({ after, through: seq })
}

/** How many records signatures prove: of the last run up to `proven`, of those before gaps up to their own last one. */
export const coveredOf = ({ changed, runs }: Chain, proven: number): number => {
  const within = (after: number, through: number) =>
    runs.reduce((sum, run) => {
      const last = Math.min(through, run === runs.at(-1) ? proven : run.signed, run.last)
      return sum + Math.max(0, last - Math.max(after, run.first - 1))
    }, 0)
  return Math.max(
    0,
    changed.reduce((sum, { after, through }) => sum - within(after, through), within(0, Infinity))
  )
}

export type Chains = ReturnType<typeof makeChains>

export const makeChains = (report: (found: Break) => void) => {
  const chains = new Map<string, Chain>()
  const recents = new Map<string, Recent>()
  let heads = 0

  /** What is remembered of a chain; that of the chain that was read longest ago is forgotten. */
  const recentOf = (instance: string): Recent => {
    const recent: Recent = recents.get(instance) ?? new Map()
    recents.delete(instance)
    if (recents.size >= maxRecentChains) recents.delete(recents.keys().next().value ?? "")
    recents.set(instance, recent)
    return recent
  }
  const recentDigest = (instance: string, seq: number) => recents.get(instance)?.get(seq)?.digest

  /** Undefined for more chains than can be followed. */
  const chainOf = (instance: string): Chain | undefined => {
    const found = chains.get(instance)
    if (found !== undefined || chains.size >= maxChains) return found
    const none = { latest: undefined, logged: undefined, signed: undefined }
    const chain: Chain = { instance, runs: [], heads: new Map(), matched: 0, records: 0, changed: [], ...none }
    chains.set(instance, chain)
    return chain
  }

  const beforeOf = (after = ""): Before | undefined => {
    const [, instance, number] = /^([0-9a-f]{1,64}):([1-9]\d*)$/.exec(after) ?? []
    const seq = Number(number)
    if (instance === undefined || !Number.isSafeInteger(seq)) return undefined
    return { instance, seq, digest: recentDigest(instance, seq), place: chains.get(instance)?.latest?.place }
  }

  /** Compares a record that is remembered with the log's head of it. */
  const compare = (chain: Chain, seq: number, place: Place): void => {
    const { heads, instance } = chain
    const head = heads.get(seq)
    const record = recents.get(instance)?.get(seq)
    if (head === undefined || record === undefined) return
    heads.delete(seq)
    record.head = head
    const text = "differs from what the log names: it, or one before it, was changed"
    if (head === record.digest) chain.matched++
    else report({ kind: "changed", place, instance, seq, text })
  }

  /** A record that the next one was not linked to. */
  const unlinked = (instance: string, { end, last }: Run, next: Place): void => {
    const text = `is not the one that the next record (${showPlace(next)}) was linked to: it was changed, or the next one was`
    report({ kind: "changed", place: end, instance, seq: last, text })
  }

  const join = ({ instance, runs }: Chain, run: Run): void => {
    const at = runs.indexOf(run) + 1
    const next = runs[at]
    if (next?.first !== run.last + 1) return
    if (next.firstPrev !== run.digest) unlinked(instance, run, next.start)
    Object.assign(run, { last: next.last, digest: next.digest, end: next.end, signed: next.signed || run.signed })
    runs.splice(at, 1)
  }

  /** Takes the next record that was read; false where it was read before, unchanged. */
  const follow = (chain: Chain, { after, instance, prev, seq }: Link, digest: string, place: Place): boolean => {
    const { latest, runs } = chain
    const recent = recentOf(instance)
    if (recent.get(seq)?.digest === digest) return false
    const found = (kind: Break["kind"], text: string) => {
      report({ kind, place, instance, seq, text })
      return true
    }
    let run = runs.findLast(({ last }) => last === seq - 1)
    const known = run === undefined ? runOf(chain, seq) : undefined
    if (known !== undefined) {
      return found("moved", `is there twice, with other contents or far apart (${showPlace(known.start)} ff.)`)
    }
    const before = latest?.place.file === place.file ? latest.seq : 0
    if (seq < before) found("moved", `stands after record ${before}`)
    chain.latest = { place, seq: Math.max(seq, before) }
    if (run === undefined) {
      if (runs.length >= maxRuns) return found("missing", "stands alone, after too many gaps to follow")
      const first = { first: seq, firstPrev: prev, after, before: beforeOf(after), start: place }
      run = { ...first, last: seq, digest, end: place, signed: 0 }
      const at = runs.findIndex(({ first }) => first > seq)
      runs.splice(at < 0 ? runs.length : at, 0, run)
    } else {
      if (run.digest !== prev) unlinked(instance, run, place)
      Object.assign(run, { last: seq, digest, end: place })
    }
    chain.records++
    recent.set(seq, { digest })
    if (recent.size > maxRecent) recent.delete(recent.keys().next().value ?? 0)
    compare(chain, seq, place)
    join(chain, run)
    return true
  }

  const addHead = ({ digest, instance, seq }: Head, place: Place): void => {
    const chain = heads < maxHeads ? chainOf(instance) : undefined
    if (chain === undefined) return
    heads++
    chain.logged = { first: chain.logged?.first ?? heads, last: heads, place }
    const earlier = recents.get(instance)?.get(seq)?.head ?? chain.heads.get(seq)
    if (earlier === undefined) {
      chain.heads.set(seq, digest)
      // On standard input the log cannot be read first.
      if (chain.latest !== undefined) compare(chain, seq, chain.latest.place)
    } else if (earlier !== digest) {
      const text = "has another digest in an earlier line of the log: one of the two lines was changed"
      report({ kind: "changed", place, instance, seq, text })
    }
  }

  return { all: chains, chainOf, follow, addHead, recentDigest }
}
