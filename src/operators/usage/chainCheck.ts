/**
 * Reads the lines of usage records, and checks their chains (usageChain): any number of files, in any order, in bounded memory.
 * Rotated files, restarts and several writers are links; a record that was changed, removed or moved is a break. So is what is
 * missing or open when all has been read: within a chain, at its ends, and between processes.
 */
import { Array as Arr, Option, Schema } from "effect"
import { recordIn } from "../../limits/ocsf.ts"
import { headOf, type Linked, linkOf, noDigest, readSeal, signedText, type Verifier } from "../../limits/usageChain.ts"
import { type JsonObject, readObject } from "../../wire/json.ts"
import { plural } from "../../wire/plural.ts"
import {
  type Before,
  type Break,
  type Chain,
  type Chains,
  coveredOf,
  makeChains,
  markChanged,
  maxChains,
  type Run,
  runOf
} from "./chains.ts"
import { type Place, showPlace } from "./readFiles.ts"

/** A break, or the text of what only other files, or another order, could prove. */
type Gap = Break | string

const range = (from: number, to: number): string => (from === to ? `record ${from}` : `records ${from} to ${to}`)
const removed = "removed, or in a file or standard error that was not given"

function* gapsOf(chains: Chains): Generator<Gap> {
  for (const chain of chains.all.values()) {
    const { heads, instance, runs } = chain
    const last = runs.at(-1)
    const highest = heads.keys().reduce((left, right) => Math.max(left, right), 0)
    if (last === undefined) {
      yield* absent(chains, chain, highest)
      continue
    }
    for (const [{ end, last }, next] of Arr.zip(runs, runs.slice(1))) {
      const text = `should stand before it, after ${showPlace(end)}: ${removed}`
      yield { kind: "missing", place: next.start, instance, seq: last + 1, through: next.first - 1, text }
    }
    // Heads whose records were read, and forgotten before they came.
    const late = [...heads.keys()].filter((seq) => runOf(chain, seq) !== undefined)
    if (late.length > 0) {
      const upTo = late.reduce((left, right) => Math.max(left, right))
      yield `chain ${instance}: ${late.length} of the log's heads, up to record ${upTo}, could not be compared, because the records were read too long before; give the log as a file of its own, or before the records`
    }
    if (highest > last.last) {
      const text = `should follow it, by the log: ${removed}`
      yield { kind: "missing", place: last.end, instance, seq: last.last + 1, through: highest, text }
    }
    yield* beginning(chains, instance, runs[0] ?? last)
  }
}

/** A chain that the log alone has. What it names before the first chain that is there may be in earlier files. */
function* absent({ all }: Chains, { instance, logged }: Chain, highest: number): Generator<Gap> {
  if (logged === undefined) return
  const earlier = all.values().some((other) => other.records > 0 && (other.logged?.first ?? Infinity) < logged.last)
  if (earlier) {
    const text =
      "should be there, by this line of the log, but is in no file given: removed, or in standard error, or in the audit log, which has to be given, too"
    yield { kind: "missing", place: logged.place, instance, seq: 1, through: highest, text }
  } else {
    yield `chain ${instance}: the log (${showPlace(logged.place)}) names ${range(1, highest)}, and no file given has any`
  }
}

/** Up to which record signatures prove each chain: its own, and those of processes that started after it in the same file. */
const provenIn = (chains: Chains): ReadonlyMap<string, { readonly seq: number; readonly followed: boolean }> => {
  const proven = new Map<string, { readonly seq: number; readonly followed: boolean }>()
  for (const { instance, signed } of chains.all.values()) {
    let next = signed && { instance, seq: signed.seq, followed: false }
    while (next !== undefined) {
      const { seq = 0, followed = false } = proven.get(next.instance) ?? {}
      if (next.seq < seq || (next.seq === seq && (followed || !next.followed))) break
      proven.set(next.instance, next)
      const [run] = chains.all.get(next.instance)?.runs ?? []
      const before = run?.first === 1 ? run.before : undefined
      const isLinked = before !== undefined && digestOf(chains, before) === run?.firstPrev
      next = isLinked ? { ...before, followed: true } : undefined
    }
  }
  return proven
}

/** What no signature covers, where a key is given. */
function* unsigned({ all }: Chains, proven: ReturnType<typeof provenIn>): Generator<Gap> {
  for (const { instance, runs, signed } of all.values()) {
    const last = runs.at(-1)
    if (last === undefined) continue
    const { seq, followed } = proven.get(instance) ?? { seq: 0, followed: false }
    if (seq === 0) {
      const text = "is of a chain that this key has not signed in the files given"
      yield { kind: "unsigned", place: last.end, instance, seq: last.last, text }
    } else if (seq < last.last) {
      const count = last.last - seq
      const what = `${range(seq + 1, last.last)} ${plural(count, "stands", "stand")} after the last signature`
      yield `chain ${instance}: ${what}, which does not prove ${plural(count, "it", "them")}, nor that none followed: the gateway still runs, was killed, or the end was removed`
    } else if (!followed && signed?.last === false) {
      yield `chain ${instance} ends with a signature (record ${seq}), but not with that of a stop: nothing proves that none followed: the gateway still runs, was killed, or the end was removed`
    }
  }
}

/** What stood before the first record of a chain that is there. */
function* beginning(chains: Chains, instance: string, run: Run): Generator<Gap> {
  const { after, before, first, firstPrev, start } = run
  if (first > 1) {
    const [is, was] = first === 2 ? ["is", "was"] : ["are", "were"]
    yield `chain ${instance} begins at ${showPlace(start)} with record ${first}: ${range(1, first - 1)} ${is} in an earlier file, or ${was} removed`
  } else if (before !== undefined) yield* restart(chains, instance, run, before)
  else if (after !== undefined || firstPrev !== noDigest) {
    const text = "is the first of its chain, but linked to another that it does not name: it was changed"
    yield { kind: "changed", place: start, instance, seq: 1, text }
  }
}

/** What is known of the record that a process started after. */
const digestOf = ({ all, recentDigest }: Chains, { digest, instance, seq }: Before): string | undefined => {
  const last = all.get(instance)?.runs.at(-1)
  return digest ?? (seq === last?.last ? last.digest : recentDigest(instance, seq))
}

/** The link of a process's first record to what stood before it in the file. A gap there is reported for the earlier chain. */
function* restart(chains: Chains, instance: string, { firstPrev, start }: Run, before: Before): Generator<Gap> {
  const { instance: earlier, seq } = before
  const runs = chains.all.get(earlier)?.runs ?? []
  const last = runs.at(-1)
  const run = runOf({ runs }, seq)
  const follows = `chain ${instance} (${showPlace(start)}) follows record ${seq} of chain ${earlier}, which`
  if (last === undefined) yield `${follows} is in an earlier file, or was removed`
  else if (seq > last.last) {
    const text = `stood after it when the next process started (${showPlace(start)}): removed, or in a file that was not given`
    yield { kind: "missing", place: last.end, instance: earlier, seq: last.last + 1, through: seq, text }
  } else if (run !== undefined) {
    const digest = digestOf(chains, before)
    const text = `is not the one that the next process started after (${showPlace(start)}): it was changed`
    if (digest === undefined) {
      yield `${follows} could not be compared, because it was read too long before or after it; give the files in their order`
    } else if (digest !== firstPrev) {
      yield { kind: "changed", place: before.place ?? run.end, instance: earlier, seq, text }
    }
  }
}

const maxNamed = 20

export type Verdict = ReturnType<ReturnType<typeof makeChainChecking>["result"]>

const isSeal = Schema.is(Schema.Struct({ audit: Schema.Literal("chain.signed") }))

/**
 * `once`: whether a file can be read but once, so that log lines in it come among the records. `verifier`: the key that must
 * have signed every chain.
 */
export const makeChainChecking = (once: (file: string) => boolean = () => true, verifier?: Verifier) => {
  const counts = {
    lines: 0,
    records: 0,
    /** Written twice after a failed write: not a break. */
    repeated: 0,
    other: 0,
    /** Records without a chain that stand before the first one with, in their file: of an older release, which signed none. */
    unchained: 0,
    /** Halves of lines that a failed write left, whose record follows: not a break. */
    torn: 0,
    /** Signatures that no key was given for. */
    unchecked: 0,
    breaks: 0
  }
  const breaksAt: Array<Break> = []
  /** Not breaks, but what only other files could prove. */
  const open: Array<string> = []
  // A line that does not parse, until a whole line shows that it was half of one.
  let half: Place | undefined
  let chainedFile: string | undefined

  const report = (found: Break) => {
    counts.breaks++
    if (breaksAt.length < maxNamed) breaksAt.push(found)
    const { instance = "", kind, seq } = found
    const chain = kind === "changed" ? chains.all.get(instance) : undefined
    if (chain !== undefined && seq !== undefined) markChanged(chain, seq)
  }
  const chains = makeChains(report)

  /**
   * Half a line was torn by a failed write if what follows goes on with the chain; else it was damaged. At the end of a file,
   * what follows may be in another.
   */
  const settleHalf = (whole: boolean, file?: string) => {
    if (half === undefined) return
    if (whole) counts.torn++
    else if (half.file === file) report({ kind: "damaged", place: half, text: "is no whole line" })
    else open.push(`${showPlace(half)} is half a line at the end of a file: its record is in another, or was cut`)
    half = undefined
  }

  const checkSignature = (chain: Chain, { link }: Linked, record: unknown, place: Place) => {
    if (!isSeal(record)) return
    if (verifier === undefined) return void counts.unchecked++
    const { instance, seq } = link
    const { detail, time = "" } = Option.getOrUndefined(readSeal(record)) ?? {}
    const last = detail?.last !== undefined
    const isOther = detail !== undefined && detail.key !== verifier.key
    if (detail !== undefined && !isOther && verifier.isSigned(signedText(link, time, last), detail.signature)) {
      const run = runOf(chain, seq)
      if (run !== undefined) run.signed = Math.max(run.signed, seq)
      if (seq > (chain.signed?.seq ?? 0)) chain.signed = { seq, last }
    } else {
      const text = isOther ? `is signed with another key (${detail.key})` : "has a wrong signature: it was changed"
      report({ kind: "unsigned", place, instance, seq, text })
    }
  }

  const addRecord = (linked: Linked, value: JsonObject, place: Place) => {
    const { digest, isWhole, link } = linked
    const { breaks } = counts
    counts.records++
    chainedFile = place.file
    const chain = chains.chainOf(link.instance)
    if (chain === undefined) {
      const text = `is of more chains than the ${maxChains} that can be followed`
      return report({ kind: "missing", place, text })
    }
    const runs = chain.runs.length
    if (!chains.follow(chain, link, digest, place)) counts.repeated++
    if (!isWhole) {
      const text = "differs from its own fingerprint: it was changed"
      report({ kind: "changed", place, instance: link.instance, seq: link.seq, text })
    }
    checkSignature(chain, linked, recordIn(value), place)
    settleHalf(breaks === counts.breaks && chain.runs.length <= Math.max(1, runs), place.file)
  }

  const addUnchained = (line: string, value: JsonObject, place: Place) => {
    if (!("time" in value && "outcome" in value)) {
      counts.other++
      if (once(place.file)) anchor(line, place)
    } else if (place.file === chainedFile || verifier !== undefined) {
      report({ kind: "unchained", place, text: "is a record without a place in a chain" })
    } else counts.unchained++
  }

  /** A line of a log, read before the records are. */
  const anchor = (line: string | undefined, place: Place): void => {
    const head = line?.includes('"usage_digest"') ? headOf(readObject(line)) : undefined
    if (head !== undefined) chains.addHead(head, place)
  }

  return {
    anchor,
    line: (line: string | undefined, place: Place) => {
      counts.lines++
      if (line === "") return
      // The text of a log. Where it replaced a record, that one is missing.
      if (line?.startsWith("{") === false) return void counts.other++
      const value = line === undefined ? undefined : readObject(line)
      const linked = line === undefined || value === undefined ? undefined : linkOf(line, value)
      if (value !== undefined && linked !== undefined) return addRecord(linked, value, place)
      settleHalf(false, place.file)
      if (line === undefined || value === undefined) half = place
      else addUnchained(line, value, place)
    },
    damage: (place: Place) => report({ kind: "damaged", place, text: "cannot be read further" }),
    result: () => {
      settleHalf(false)
      if (verifier !== undefined && chains.all.size === 0 && breaksAt.length === 0 && counts.lines > 0) {
        report({ kind: "unsigned", place: { file: chainedFile ?? "-", line: 1 }, text: "no record has a signature" })
      }
      const proven = provenIn(chains)
      for (const gap of [...gapsOf(chains), ...(verifier === undefined ? [] : unsigned(chains, proven))]) {
        if (typeof gap === "string") open.push(gap)
        else report(gap)
      }
      const followed = [...chains.all.values()].flatMap(({ instance, matched, records, runs: [first, ...more] }) => {
        if (first === undefined) return []
        const { digest, last } = more.at(-1) ?? first
        return [{ instance, records, first: first.first, last, digest, anchors: matched }]
      })
      const covered = chains.all
        .values()
        .reduce((sum, chain) => sum + coveredOf(chain, proven.get(chain.instance)?.seq ?? 0), 0)
      return { ...counts, breaksAt, open, chains: followed, covered: verifier === undefined ? undefined : covered }
    }
  }
}
