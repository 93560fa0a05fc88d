/** Signatures of thinking, and identifiers derived from a request. */
import { createHash, createHmac, hash } from "node:crypto"

// A fixed key: signatures stay valid across clouds and restarts, as the vendor's do, and answers stay deterministic.
const KEY = "sandbox thinking signatures"

const salted = (salt: Buffer, text: string): string => {
  const mac = createHmac("sha256", KEY).update(salt).update(text).digest()
  return Buffer.concat([salt, mac]).toString("base64")
}

/** Signs a thinking block's text. `seed` makes the signatures of two empty blocks differ. */
export const signThinking = (text: string, seed: string): string =>
  salted(hash("sha256", seed, "buffer").subarray(0, 16), text)

/** Whether a signature is valid for this text. */
export const isSigned = (text: string, signature: string): boolean =>
  salted(Buffer.from(signature, "base64").subarray(0, 16), text) === signature

/** A short hash, for identifiers that follow from the request. */
export const digest = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part).update("\0")
  return hash.digest("hex")
}
