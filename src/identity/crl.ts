/**
 * Certificate revocation lists (RFC 5280, section 5), in DER or PEM. Read here, because a library that makes an object of every
 * element fails at the hundreds of thousands of entries that agencies' lists have (docs/decisions.md#identity).
 */
import { type KeyObject, verify } from "node:crypto"
import { Result } from "effect"
import type { Slices } from "../wire/slices.ts"
import { childrenOf, digestOf, type Element, elementAt, hexOf, Malformed, refuse, tags } from "./der.ts"

export interface RevocationList {
  /** Serial numbers in hexadecimal capitals, without leading zeros. */
  readonly revoked: ReadonlySet<string>
  /** Milliseconds since the epoch, after which the list says nothing. */
  readonly nextUpdate: number
  readonly isSignedBy: (key: KeyObject) => boolean
}

/** As Node writes serial numbers, some of which are negative, without leading zeros. */
export const plainSerial = (hex: string): string => hex.toUpperCase().replace(/^(-?)0+(?=.)/, "$1")

const serialOf = (bytes: Buffer, element: Element): string => {
  const hex = hexOf(bytes, element)
  if ((bytes[element.from] ?? 0) < 0x80) return plainSerial(hex)
  return plainSerial(BigInt.asIntN(4 * hex.length, BigInt(`0x${hex}`)).toString(16))
}

const timeOf = (bytes: Buffer, { from, tag, to }: Element): number => {
  const text = bytes.toString("latin1", from, to)
  const [, year = "", month, day, hour, minute, second] =
    /^(\d{2}|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? refuse("it has no time that is one")
  const full = tag === tags.utcTime ? `${Number(year) < 50 ? "20" : "19"}${year}` : year
  return Date.parse(`${full}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

const isTime = ({ tag }: Element): boolean => tag === tags.utcTime || tag === tags.generalizedTime

/** What a critical extension says may not be passed over, and these lists are taken as a whole: no deltas, no parts. */
const refuseCritical = (bytes: Buffer, extensions: Element): void => {
  for (const list of childrenOf(bytes, extensions)) {
    for (const extension of childrenOf(bytes, list)) {
      const [, critical] = [...childrenOf(bytes, extension)]
      if (critical?.tag === 0x01 && bytes[critical.from] !== 0) refuse("it is a delta, indirect or partial list")
    }
  }
}

/** Entries that are read in about a millisecond. */
const sliceEntries = 500

function* revokedIn(bytes: Buffer, list: Element): Slices<ReadonlySet<string>> {
  const revoked = new Set<string>()
  for (const entry of childrenOf(bytes, list)) {
    revoked.add(serialOf(bytes, elementAt(bytes, entry.from, entry.to)))
    if (revoked.size % sliceEntries === 0) yield
  }
  return revoked
}

function* read(bytes: Buffer): Slices<RevocationList> {
  const outer = elementAt(bytes, 0, bytes.length)
  const [list, algorithm, signature] = [...childrenOf(bytes, outer)]
  if (outer.tag !== tags.sequence || list === undefined || algorithm === undefined || signature?.tag !== tags.bits) {
    return refuse("it is no revocation list")
  }
  const fields = [...childrenOf(bytes, list)].filter(({ tag }) => tag !== tags.integer)
  // The signature's algorithm and the issuer's name come first; the signature itself says whose list it is.
  const [, , thisUpdate, nextUpdate, ...rest] = fields
  if (thisUpdate === undefined || !isTime(thisUpdate)) return refuse("it is no revocation list")
  if (nextUpdate === undefined || !isTime(nextUpdate)) return refuse("it has no time of its next update")
  const extensions = rest.find(({ tag }) => tag === 0xa0)
  if (extensions !== undefined) refuseCritical(bytes, extensions)
  const digest = digestOf(bytes, algorithm)
  if (digest === undefined) return refuse("its signature is neither ECDSA nor RSA (PKCS #1) with SHA-2")
  const [signed, value] = [bytes.subarray(list.at, list.to), bytes.subarray(signature.from + 1, signature.to)]
  const entries = rest.find(({ tag }) => tag === tags.sequence)
  return {
    revoked: entries === undefined ? new Set() : yield* revokedIn(bytes, entries),
    nextUpdate: timeOf(bytes, nextUpdate),
    // OpenSSL fails for keys that sign in no such way.
    isSignedBy: (key) =>
      Result.getOrElse(
        Result.try(() => verify(digest, signed, key, value)),
        () => false
      )
  }
}

/** One that is cut off, too: it is broken, not absent. */
const pem = /-----BEGIN X509 CRL-----([A-Za-z0-9+/=\s]*)(?:-----END X509 CRL-----)?/g

/** The lists of one file; the failure says what is wrong with it. */
export function* parseRevocationLists(file: Buffer): Slices<Result.Result<ReadonlyArray<RevocationList>, string>> {
  try {
    if (file[0] === tags.sequence) return Result.succeed([yield* read(file)])
    const lists: Array<RevocationList> = []
    for (const [, text = ""] of file.toString("latin1").matchAll(pem)) {
      lists.push(yield* read(Buffer.from(text, "base64")))
    }
    return lists.length === 0 ? refuse("it is no revocation list") : Result.succeed(lists)
  } catch (cause) {
    return Result.fail(cause instanceof Malformed ? cause.message : "it is no revocation list")
  }
}
