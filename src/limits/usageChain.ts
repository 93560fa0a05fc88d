/**
 * The chain of a process's usage records, so that a record that was changed, removed or moved shows
 * (docs/operation.md#records-that-were-changed-or-removed). Each process run is an instance with a chain of its own, so that
 * several may write into one file. A record ends with:
 * - `instance`: the chain it belongs to;
 * - `seq`: its number there, from 1;
 * - `prev`: SHA-256, hex, of the record before, its line without the line feed; zeros when there is none;
 * - `after`, on a first record alone: `<instance>:<seq>` of the last record that the file held when the process started, whose
 *   digest `prev` then is. So a restart is a link too, and what is cut off the end of a file shows when it is written again.
 * In the form of OCSF the same stands in its own fields, and the digest is that of the event (ocsf).
 */
import { createPrivateKey, createPublicKey, hash, type KeyObject, randomBytes, sign, verify } from "node:crypto"
import { Effect, Result, Schema } from "effect"
import { type AuditEvent, eventOf } from "../audit/Audit.ts"
import { isObject, type Json, readObject } from "../wire/json.ts"
import { fail, rephrase } from "../wire/OperatorError.ts"
import { parseFile } from "../wire/parse.ts"
import { runNow } from "../wire/slices.ts"
import { readOwned } from "./files.ts"
import { ocsfEvent, ocsfPlace } from "./ocsf.ts"
import { recordLine, type UsageRecord } from "./UsageRecord.ts"

// Signatures over the heads of chains: ECDSA on P-256 with SHA-256 (docs/records.md#signed-records).

/** SHA-256, hex, of the public key in DER (SubjectPublicKeyInfo), cut: which key has signed. */
const nameOf = (key: KeyObject): string =>
  hash("sha256", key.export({ type: "spki", format: "der" }), "hex").slice(0, 16)

const dsaEncoding = "ieee-p1363" as const
const isP256 = (key: KeyObject): boolean => key.asymmetricKeyDetails?.namedCurve === "prime256v1"

const keyIn = Effect.fnUntraced(function* (path: string, parse: (pem: string) => KeyObject, what: string) {
  const pem = yield* readOwned(path)
  if (pem === undefined) return yield* fail(`${path} does not exist`)
  const key = Result.try(() => parse(pem))
  // What OpenSSL says of a file that holds a secret may quote it.
  if (Result.isFailure(key) || !isP256(key.success)) return yield* fail(`${path} is no ${what} on P-256 (PEM)`)
  return key.success
})

/** The key that signs. Fails where the file has none, or others than its owner may write it. */
export const readSigner = Effect.fnUntraced(function* (path: string) {
  const key = yield* rephrase(
    keyIn(path, createPrivateKey, "private key"),
    (message) =>
      `GATEWAY_RECORD_SIGNING_KEY: ${message}. Make one: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out records.key`
  )
  return {
    key: nameOf(createPublicKey(key)),
    /** Base64url of the two numbers (IEEE P1363). */
    sign: (text: string) => sign("sha256", Buffer.from(text), { key, dsaEncoding }).toString("base64url")
  }
})
type Signer = Effect.Success<ReturnType<typeof readSigner>>

/** The public key of a file, which may also hold a certificate. */
export const readVerifier = Effect.fnUntraced(function* (path: string) {
  const key = yield* keyIn(path, createPublicKey, "public key")
  return {
    key: nameOf(key),
    isSigned: (text: string, signature: string) => {
      const bytes = Buffer.from(signature, "base64url")
      // Of the last letter some bits do not count.
      const isExact = bytes.toString("base64url") === signature
      return isExact && verify("sha256", Buffer.from(text), { key, dsaEncoding }, bytes)
    }
  }
})
export type Verifier = Effect.Success<ReturnType<typeof readVerifier>>

// Chain

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

export interface ChainOptions {
  readonly instance?: string | undefined
  /** `GATEWAY_RECORD_FORMAT` */
  readonly format?: "gateway" | "ocsf" | undefined
  /** `GATEWAY_RECORD_SIGNING_KEY` */
  readonly signer?: Signer | undefined
}

/** What a signature is of: its record's place, the digest of what stands before, its time, and whether it is the last record. */
export const signedText = (
  { instance, prev, seq }: Pick<Link, "instance" | "seq" | "prev">,
  time: string,
  last: boolean
) => `${instance}:${seq}:${prev}:${time}${last ? ":last" : ""}`

/** A new chain. `before`: what stood last in the file when the process started. */
export const makeChain = (
  before?: Head,
  { format = "gateway", instance = randomBytes(8).toString("hex"), signer }: ChainOptions = {}
) => {
  const follows = before === undefined ? undefined : `${before.instance}:${before.seq}`
  let seq = 0
  let sealed = 0
  let digest = before?.digest ?? noDigest
  /** The record's line with its place in the chain, and a line feed; the next one is linked to it. */
  const link = (record: UsageRecord | AuditEvent): string => {
    seq++
    const place = { instance, seq, prev: digest, after: seq === 1 ? follows : undefined }
    if (format === "ocsf") {
      const made = ocsfEvent(record, { ...place, prev: digest === noDigest ? undefined : digest })
      digest = made.digest
      return `${recordLine(made.event)}\n`
    }
    const line = recordLine({ ...record, ...place })
    digest = lineDigest(line)
    return `${line}\n`
  }
  /** The line of a record that signs everything before it; empty where there is no key. `last`: no other follows. */
  const seal = (last: boolean): string => {
    if (signer === undefined) return ""
    sealed = seq + 1
    const event = eventOf({ audit: "chain.signed", outcome: "success" })
    const signature = signer.sign(signedText({ instance, seq: sealed, prev: digest }, event.time, last))
    return link({ ...event, detail: { key: signer.key, signature, ...(last ? { last: "true" } : {}) } })
  }
  /** Whether a record came after what was signed last. */
  const isUnsigned = () => seq > sealed
  const head = (): Head => ({ instance, seq, digest })
  return { instance, link, seal, isUnsigned, head }
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

/** A record that signs: none of what it holds is unsigned, but what it always holds. */
export const readSeal = Schema.decodeUnknownOption(
  Schema.Struct({
    time: Schema.String,
    audit: Schema.Literal("chain.signed"),
    outcome: Schema.Literal("success"),
    actor: Schema.Struct({ kind: Schema.Literal("gateway") }),
    detail: Schema.Struct({
      key: Schema.String,
      signature: Schema.String,
      last: Schema.optional(Schema.Literal("true"))
    }),
    ...Link.fields,
    prev: Schema.optional(Schema.String)
  }),
  { onExcessProperty: "error" }
)

/**
 * The place of a record and its digest, of its line and what was parsed of it; undefined for one that has none, or whose place makes
 * no sense. `isWhole` is false where the record names another digest for itself.
 */
export const linkOf = (line: string, record: unknown) => {
  if (isLink(record)) return { link: record, digest: lineDigest(line), isWhole: true }
  const found = isObject<Json>(record) ? ocsfPlace(record) : undefined
  if (found === undefined) return undefined
  const link = { ...found.place, prev: found.place.prev ?? noDigest }
  // Of a name that stands twice other readers may take the other value.
  const isWhole = found.isNamed && Result.isSuccess(runNow(parseFile(line)))
  return isLink(link) ? { link, digest: found.digest, isWhole } : undefined
}
export type Linked = NonNullable<ReturnType<typeof linkOf>>

/** The last whole record in the text at the end of a file. */
export const lastHead = (text: string): Head | undefined => {
  // What stands after the last line feed is not whole.
  for (const line of text.split("\n").slice(0, -1).reverse()) {
    const linked = linkOf(line, readObject(line))
    if (linked === undefined) continue
    const { instance, seq } = linked.link
    return { instance, seq, digest: linked.digest }
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
