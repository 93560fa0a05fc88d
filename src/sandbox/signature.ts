/** Signatures of thinking, and identifiers derived from a request. */
import { createHash, createHmac, hash } from "node:crypto"

// A fixed key: signatures stay valid across clouds and restarts, as the vendor's do, and answers stay deterministic.
const KEY = "sandbox thinking signatures"

const SALT = 16
const MAC = 32

const macOf = (salt: Buffer, text: string): Buffer => createHmac("sha256", KEY).update(salt).update(text).digest()
const placeOf = (salt: Buffer, place: string): Buffer => macOf(salt, `place${place}`)

/** Signs a thinking block's text, and its place where it has one. `seed` makes the signatures of two empty blocks differ. */
export const signThinking = (text: string, seed: string, place?: string): string => {
  const salt = hash("sha256", seed, "buffer").subarray(0, SALT)
  const placed = place === undefined ? [] : [placeOf(salt, place)]
  return Buffer.concat([salt, macOf(salt, text), ...placed]).toString("base64")
}

const read = (signature: string) => {
  const bytes = Buffer.from(signature, "base64")
  const [salt, mac, placed] = [bytes.subarray(0, SALT), bytes.subarray(SALT, SALT + MAC), bytes.subarray(SALT + MAC)]
  return { salt, mac, placed, whole: bytes.toString("base64") === signature }
}

/** Whether a signature is valid for this text, in whichever place. */
export const isSigned = (text: string, signature: string): boolean => {
  const { salt, mac, placed, whole } = read(signature)
  return whole && macOf(salt, text).equals(mac) && (placed.length === 0 || placed.length === MAC)
}

/** Whether a valid signature is of this place, or of none. */
export const isSignedAt = (place: string, signature: string): boolean => {
  const { salt, placed } = read(signature)
  return placed.length === 0 || placeOf(salt, place).equals(placed)
}

/** A short hash, for identifiers that follow from the request. */
export const digest = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part).update("\0")
  return hash.digest("hex")
}
