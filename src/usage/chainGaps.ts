/** What is missing from the chains, or open, when all has been read: within a chain, at its ends, and between processes. */
import { noDigest } from "../access/usageChain.ts"
import { type Before, type Break, type ChainState, type Chains, type Run, runOf, showPlace } from "./chainRuns.ts"

/** A break, or the text of what only other files, or another order, could prove. */
type Finding = Break | string

const range = (from: number, to: number): string => (from === to ? `record ${from}` : `records ${from} to ${to}`)

export function* gapsOf(chains: Chains): Generator<Finding> {
  for (const state of chains.states.values()) {
    const { anchors, instance, runs } = state
    const [first] = runs
    const last = runs.at(-1)
    const highest = anchors.keys().reduce((left, right) => Math.max(left, right), 0)
    if (first === undefined || last === undefined) yield* absent(chains, state, highest)
    else {
      yield* between(state)
      yield* late(state)
      if (highest > last.last) {
        const text = "should follow it, says the log: removed, or in a file or standard error that was not given"
        yield { kind: "missing", place: last.end, instance, seq: last.last + 1, through: highest, text }
      }
      yield* before(chains, instance, first)
    }
  }
}

function* between({ instance, runs }: ChainState): Generator<Finding> {
  for (const [at, run] of runs.entries()) {
    const next = runs[at + 1]
    if (next === undefined) continue
    const text = `should stand before it, after ${showPlace(run.end)}: removed, or in a file or standard error that was not given`
    yield { kind: "missing", place: next.start, instance, seq: run.last + 1, through: next.first - 1, text }
  }
}

/** Heads whose records were read, and forgotten before they came. */
function* late({ anchors, instance, runs }: ChainState): Generator<Finding> {
  const heads = [...anchors.keys()].filter((seq) => runOf(runs, seq) !== undefined)
  if (heads.length === 0) return
  const highest = heads.reduce((left, right) => Math.max(left, right))
  yield `chain ${instance}: ${heads.length} of the log's heads, up to record ${highest}, could not be compared, because the records were read too long before; give the log as a file of its own, or before the records`
}

/** A chain that the log alone has. What it names before the first chain that is there may be in earlier files. */
function* absent({ states }: Chains, { instance, logged }: ChainState, highest: number): Generator<Finding> {
  if (logged === undefined) return
  const earlier = states.values().some((other) => other.records > 0 && (other.logged?.first ?? Infinity) < logged.last)
  if (earlier) {
    const text = "should be there, says this line of the log, but is in no file given: removed, or in standard error"
    yield { kind: "missing", place: logged.place, instance, seq: 1, through: highest, text }
  } else {
    yield `chain ${instance}: the log (${showPlace(logged.place)}) names ${range(1, highest)}, and no file given has any`
  }
}

/** What stood before the first record of a chain that is there. */
function* before(chains: Chains, instance: string, run: Run): Generator<Finding> {
  const { after, first, firstPrev, start } = run
  if (first > 1) {
    const missing = range(1, first - 1)
    const [is, was] = first === 2 ? ["is", "was"] : ["are", "were"]
    yield `chain ${instance} begins at ${showPlace(start)} with record ${first}: ${missing} ${is} in an earlier file, or ${was} removed`
  } else if (run.before !== undefined) yield* processBefore(chains, instance, run, run.before)
  else if (after !== undefined || firstPrev !== noDigest) {
    const text = "is the first of its chain, but linked to another that it does not name: it was changed"
    yield { kind: "changed", place: start, instance, seq: 1, text }
  }
}

/** The link of a process's first record to what stood before it in the file; that a gap is there has been said. */
function* processBefore(chains: Chains, instance: string, run: Run, before: Before): Generator<Finding> {
  const { instance: earlier, seq } = before
  const start = showPlace(run.start)
  const runs = chains.states.get(earlier)?.runs ?? []
  const last = runs.at(-1)
  const held = runOf(runs, seq)
  if (last === undefined) {
    yield `chain ${instance} (${start}) follows record ${seq} of chain ${earlier}, which is in an earlier file, or was removed`
  } else if (seq > last.last) {
    const text = `stood after it when the next process started (${start}): removed, or in a file that was not given`
    yield { kind: "missing", place: last.end, instance: earlier, seq: last.last + 1, through: seq, text }
  } else if (held !== undefined) {
    const digest = before.digest ?? (seq === held.last ? held.digest : chains.recentDigest(earlier, seq))
    if (digest === undefined) {
      yield `chain ${instance} (${start}) follows record ${seq} of chain ${earlier}, which could not be compared, because it was read too long before or after it; give the files in their order`
    } else if (digest !== run.firstPrev) {
      const text = `is not the one that the next process started after (${start}): it was changed`
      yield { kind: "changed", place: before.place ?? held.end, instance: earlier, seq, text }
    }
  }
}
