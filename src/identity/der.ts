/** Elements of DER (X.690), where they lie in their bytes, and the algorithms of signatures. */

/** An element of DER, by where its head, its content and its end are. */
export interface Element {
  readonly tag: number
  readonly at: number
  readonly from: number
  readonly to: number
}

export class Malformed extends Error {}

export const refuse = (message: string): never => {
  throw new Malformed(message)
}

export const tags = {
  integer: 0x02,
  bits: 0x03,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30
} as const

export const elementAt = (bytes: Buffer, at: number, end: number): Element => {
  const tag = bytes[at] ?? refuse("it ends too early")
  const first = bytes[at + 1] ?? refuse("it ends too early")
  const more = first < 0x80 ? 0 : first - 0x80
  if (more > 4 || first === 0x80 || at + 2 + more > end) refuse("it is no DER")
  const length = more === 0 ? first : bytes.readUIntBE(at + 2, more)
  const from = at + 2 + more
  return from + length > end ? refuse("it ends too early") : { tag, at, from, to: from + length }
}

/** Iterates, because a list may have more entries than an array of objects is good for. */
export function* childrenOf(bytes: Buffer, { from, to }: Element): Generator<Element> {
  for (let at = from; at < to; ) {
    const element = elementAt(bytes, at, to)
    yield element
    at = element.to
  }
}

export const hexOf = (bytes: Buffer, { from, to }: Element): string => bytes.toString("hex", from, to)

/** Digests by object identifiers in hexadecimal: of ECDSA and RSA (PKCS #1) with SHA-2. */
const digests: Readonly<Record<string, string>> = {
  "2a8648ce3d040302": "sha256",
  "2a8648ce3d040303": "sha384",
  "2a8648ce3d040304": "sha512",
  "2a864886f70d01010b": "sha256",
  "2a864886f70d01010c": "sha384",
  "2a864886f70d01010d": "sha512"
}

/** The digest of an algorithm: undefined for any but ECDSA and RSA (PKCS #1) with SHA-2. */
export const digestOf = (bytes: Buffer, { from, to }: Element): string | undefined =>
  digests[hexOf(bytes, elementAt(bytes, from, to))]

const rsaPss = "2a864886f70d01010a"
/** EdDSA on its two curves, which have digests of their own. */
const edwards: ReadonlySet<string> = new Set(["2b6570", "2b6571"])
const sha2: ReadonlySet<string> = new Set(["608648016503040201", "608648016503040202", "608648016503040203"])

/** Whether an algorithm is one of FIPS 186-5 with SHA-2. The parameters of RSA-PSS begin with its digest; without one, it is weak. */
export const isStrong = (bytes: Buffer, algorithm: Element): boolean => {
  if (digestOf(bytes, algorithm) !== undefined) return true
  const [id, parameters] = childrenOf(bytes, algorithm)
  if (id === undefined || hexOf(bytes, id) !== rsaPss) return id !== undefined && edwards.has(hexOf(bytes, id))
  const [digest] = parameters === undefined ? [] : childrenOf(bytes, parameters)
  if (digest?.tag !== 0xa0) return false
  const { from, to } = elementAt(bytes, digest.from, digest.to)
  return sha2.has(hexOf(bytes, elementAt(bytes, from, to)))
}
