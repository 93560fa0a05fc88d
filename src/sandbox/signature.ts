/** Signatures of thinking, and identifiers derived from a request. */
import { createHash, createHmac, hash } from "node:crypto"

// A fixed key: signatures stay valid across clouds and restarts, as the vendor's do, and answers stay deterministic.
const KEY = "sandbox thinking signatures"

const SALT = 16
const MAC = 32

const macOf = (salt: Buffer, ...texts: ReadonlyArray<string>): Buffer => {
  const mac = createHmac("sha256", KEY).update(salt)
  for (const text of texts) mac.update(text)
  return mac.digest()
}

/** Signs a thinking block's text, and its place where it has one. `seed` makes the signatures of two empty blocks differ. */
export const signThinking = (text: string, seed: string, place?: string): string => {
  const salt = hash("sha256", seed, "buffer").subarray(0, SALT)
  const placed = place === undefined ? [] : [macOf(salt, "place", place)]
  return Buffer.concat([salt, macOf(salt, text), ...placed]).toString("base64")
}

const saltOf = (bytes: Buffer): Buffer => bytes.subarray(0, SALT)

/** Whether a signature is valid for this text, in whichever place. */
export const isSigned = (text: string, signature: string): boolean => {
  const bytes = Buffer.from(signature, "base64")
  const whole = bytes.length === SALT + MAC || bytes.length === SALT + 2 * MAC
  return (
    whole &&
    bytes.toString("base64") === signature &&
    macOf(saltOf(bytes), text).equals(bytes.subarray(SALT, SALT + MAC))
  )
}

/** Whether a valid signature is of this place, or of none. */
export const isSignedAt = (place: string, signature: string): boolean => {
  const bytes = Buffer.from(signature, "base64")
  const placed = bytes.subarray(SALT + MAC)
  return placed.length === 0 || macOf(saltOf(bytes), "place", place).equals(placed)
}

/** A short hash, for identifiers that follow from the request. */
export const digest = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part).update("\0")
  return hash.digest("hex")
}
