/**
 * Reads the lines of usage records, and checks their chains (usageChain): any number of files, in any order, in bounded memory.
 * Rotated files, restarts and several writers are links; a record that was changed, removed or moved is a break.
 */
import { Schema } from "effect"
import { recordIn } from "../../limits/ocsf.ts"
import { headOf, type Linked, linkOf, signedText, type Verifier } from "../../limits/usageChain.ts"
import { type JsonObject, readObject } from "../../wire/json.ts"
import { gapsOf, unsigned } from "./chainGaps.ts"
import { type Break, type Chain, makeChains, maxChains, showPlace } from "./chains.ts"
import type { Place } from "./summary.ts"

const maxNamed = 20

export type Verdict = ReturnType<ReturnType<typeof makeChainChecking>["result"]>

const isSeal = Schema.is(
  Schema.Struct({
    audit: Schema.Literal("chain.signed"),
    detail: Schema.Struct({ key: Schema.String, signature: Schema.String, last: Schema.optional(Schema.String) })
  })
)

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
    /** Records without a chain that stand before the first one with, in their file: of an older release. */
    unchained: 0,
    /** Halves of lines that a failed write left, whose record follows: not a break. */
    torn: 0,
    /** Signatures that no key was given for. */
    unchecked: 0,
    breaks: 0
  }
  /** The first ones. */
  const breaksAt: Array<Break> = []
  /** Not breaks, but what only other files could prove. */
  const open: Array<string> = []
  // A line that does not parse, until a whole line shows that it was half of one.
  let half: Place | undefined
  let chainedFile: string | undefined

  const report = (found: Break) => {
    counts.breaks++
    if (breaksAt.length < maxNamed) breaksAt.push(found)
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
    const { key, last, signature } = record.detail
    if (verifier.isSigned(signedText(link), signature)) chain.signed = { seq, last: last !== undefined }
    else {
      const text =
        key === verifier.key ? "has a wrong signature: it was changed" : `is signed with another key (${key})`
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
      report({ kind: "missing", place, text: `is of more chains than the ${maxChains} that can be followed` })
      return
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
      if (once(place.file)) anchor(line, place.file, place.line)
    } else if (place.file === chainedFile) {
      report({ kind: "unchained", place, text: "is a record without a place in a chain" })
    } else counts.unchained++
  }

  const add = (line: string | undefined, file: string, number: number) => {
    counts.lines++
    if (line === "") return
    if (line !== undefined && !line.startsWith("{")) {
      // The text of a log. Where it replaced a record, that one is missing.
      counts.other++
      return
    }
    const place: Place = { file, line: number }
    const value = line === undefined ? undefined : readObject(line)
    const linked = line === undefined || value === undefined ? undefined : linkOf(line, value)
    if (value !== undefined && linked !== undefined) return addRecord(linked, value, place)
    settleHalf(false, file)
    if (line === undefined || value === undefined) half = place
    else addUnchained(line, value, place)
  }

  /** A line of a log, read before the records are. */
  const anchor = (line: string | undefined, file: string, number: number): void => {
    if (line === undefined || !line.includes('"usage_digest"')) return
    const head = headOf(readObject(line))
    if (head !== undefined) chains.addHead(head, { file, line: number })
  }

  return {
    anchor,
    add,
    damage: (place: Place) => report({ kind: "damaged", place, text: "cannot be read further" }),
    result: () => {
      settleHalf(false)
      if (verifier !== undefined && chains.all.size === 0 && breaksAt.length === 0 && counts.lines > 0) {
        report({ kind: "unsigned", place: { file: chainedFile ?? "-", line: 1 }, text: "no record has a signature" })
      }
      for (const gap of [...gapsOf(chains), ...(verifier === undefined ? [] : unsigned(chains))]) {
        if (typeof gap === "string") open.push(gap)
        else report(gap)
      }
      const followed = [...chains.all.values()].flatMap(({ instance, matched, records, runs: [first, ...more] }) => {
        if (first === undefined) return []
        const { digest, last } = more.at(-1) ?? first
        return [{ instance, records, first: first.first, last, digest, anchors: matched }]
      })
      const covered = chains.all.values().reduce((sum, { records, runs, signed }) => {
        const after = (runs.at(-1)?.last ?? 0) - (signed?.seq ?? 0)
        return sum + Math.max(0, records - Math.max(0, after))
      }, 0)
      return { ...counts, breaksAt, open, chains: followed, covered: verifier === undefined ? undefined : covered }
    }
  }
}
