/**
 * The chain of a process's usage records, so that a record that was changed, removed or moved shows
 * (docs/operation.md#records-that-were-changed-or-removed). Each process run is an instance with a chain of its own, so that
 * several may write into one file. A record ends with:
 * - `instance`: the chain it belongs to;
 * - `seq`: its number there, from 1;
 * - `prev`: SHA-256, hex, of the record before, its line without the line feed; zeros when there is none;
 * - `after`, on a first record alone: `<instance>:<seq>` of the last record that the file held when the process started, whose
 *   digest `prev` then is. So a restart is a link too, and what is cut off the end of a file shows when it is written again.
 */
import { hash, randomBytes } from "node:crypto"
import { Schema } from "effect"
import { recordLine } from "./UsageRecord.ts"

/** SHA-256, hex, of a record's line without its line feed. */
export const lineDigest = (line: string | Uint8Array): string => hash("sha256", line, "hex")

/** The digest before the first record. */
export const noDigest = "0".repeat(64)

/** A record, by its chain and number. */
export interface Head {
  readonly instance: string
  readonly seq: number
  readonly digest: string
}

export interface Chain {
  readonly instance: string
  /** The record's line with its place in the chain, and a line feed; the next one is linked to it. */
  readonly link: (record: object) => string
  /** The last record. */
  readonly head: () => Head
}

/** A new chain. `before`: what stood last in the file when the process started. */
export const makeChain = (before?: Head, instance: string = randomBytes(8).toString("hex")): Chain => {
  const after = before === undefined ? undefined : `${before.instance}:${before.seq}`
  let seq = 0
  let digest = before?.digest ?? noDigest
  return {
    instance,
    link: (record) => {
      seq++
      const line = recordLine({ ...record, instance, seq, prev: digest, after: seq === 1 ? after : undefined })
      digest = lineDigest(line)
      return `${line}\n`
    },
    head: () => ({ instance, seq, digest })
  }
}

const Seq = Schema.Int.check(Schema.isGreaterThan(0))

/** What a record's line says of its place. */
const Link = Schema.Struct({
  instance: Schema.String.check(Schema.isPattern(/^[0-9a-f]{1,64}$/)),
  seq: Seq,
  prev: Schema.String,
  after: Schema.optional(Schema.String)
})
export type Link = typeof Link.Type
const isLink = Schema.is(Link)

/** The place of a record that was parsed; undefined for one that has none, or whose place makes no sense. */
export const linkOf = (record: unknown): Link | undefined => (isLink(record) ? record : undefined)

/** The last whole record in the text at the end of a file. */
export const lastHead = (text: string): Head | undefined => {
  // What stands after the last line feed is not whole.
  for (const line of text.split("\n").slice(0, -1).reverse()) {
    try {
      const link = linkOf(JSON.parse(line))
      if (link !== undefined) return { instance: link.instance, seq: link.seq, digest: lineDigest(line) }
    } catch {
      // Half a line.
    }
  }
  return undefined
}

/** The fields of the log line that anchors a chain: who changes records must change the log too. */
const Anchor = Schema.Struct({ usage_instance: Schema.String, usage_seq: Seq, usage_digest: Schema.String })
const isAnchor = Schema.is(Anchor)

export const anchorOf = ({ digest, instance, seq }: Head): typeof Anchor.Type => ({
  usage_instance: instance,
  usage_seq: seq,
  usage_digest: digest
})

/** The head in a log line that was parsed; undefined for any other line. */
export const headOf = (line: unknown): Head | undefined =>
  isAnchor(line) ? { instance: line.usage_instance, seq: line.usage_seq, digest: line.usage_digest } : undefined
