/** What is missing from the chains, or open, when all has been read: within a chain, at its ends, and between processes. */
import { noDigest } from "../../limits/usageChain.ts"
import { plural } from "../../wire/plural.ts"
import { type Before, type Break, type Chain, type Chains, type Run, runOf, showPlace } from "./chains.ts"

/** A break, or the text of what only other files, or another order, could prove. */
type Gap = Break | string

const range = (from: number, to: number): string => (from === to ? `record ${from}` : `records ${from} to ${to}`)
const removed = "removed, or in a file or standard error that was not given"

export function* gapsOf(chains: Chains): Generator<Gap> {
  for (const chain of chains.all.values()) {
    const { heads, instance, runs } = chain
    const last = runs.at(-1)
    const highest = heads.keys().reduce((left, right) => Math.max(left, right), 0)
    if (last === undefined) {
      yield* absent(chains, chain, highest)
      continue
    }
    for (const [at, { end, last }] of runs.entries()) {
      const next = runs[at + 1]
      if (next === undefined) continue
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

/** What no signature covers, where a key is given. */
export function* unsigned({ all }: Chains): Generator<Gap> {
  for (const { instance, runs, signed } of all.values()) {
    const last = runs.at(-1)
    if (last === undefined) continue
    if (signed === undefined) {
      yield {
        kind: "unsigned",
        place: last.end,
        instance,
        seq: last.last,
        text: "is of a chain that this key has not signed"
      }
    } else if (signed.seq < last.last) {
      const what = `${range(signed.seq + 1, last.last)} ${plural(last.last - signed.seq, "stands", "stand")}`
      yield `chain ${instance}: ${what} after the last signature, which does not prove them, nor that none followed: the gateway still runs, was killed, or the end was removed`
    } else if (!signed.last) {
      yield `chain ${instance} ends with a signature (record ${signed.seq}), but not with that of a stop: nothing proves that none followed: the gateway still runs, was killed, or the end was removed`
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
    const digest = before.digest ?? (seq === run.last ? run.digest : chains.recentDigest(earlier, seq))
    const text = `is not the one that the next process started after (${showPlace(start)}): it was changed`
    if (digest === undefined) {
      yield `${follows} could not be compared, because it was read too long before or after it; give the files in their order`
    } else if (digest !== firstPrev) {
      yield { kind: "changed", place: before.place ?? run.end, instance: earlier, seq, text }
    }
  }
}
