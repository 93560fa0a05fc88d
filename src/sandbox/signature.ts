/** How thinking is signed, and how identifiers follow from a request. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto"

// A fixed key: signatures stay valid across clouds and restarts, as the vendor's do, and answers stay deterministic.
const KEY = "sandbox thinking signatures"

const mac = (salt: Buffer, text: string): Buffer => createHmac("sha256", KEY).update(salt).update(text).digest()

/** Signs a thinking block's text. `seed` makes the signatures of two empty blocks differ. */
export const signThinking = (text: string, seed: string): string => {
  const salt = createHash("sha256").update(seed).digest().subarray(0, 16)
  return Buffer.concat([salt, mac(salt, text)]).toString("base64")
}

/** Whether a signature is ours, for exactly this text. */
export const isSigned = (text: string, signature: string): boolean => {
  const bytes = Buffer.from(signature, "base64")
  if (bytes.length !== 48 || bytes.toString("base64") !== signature) return false
  const salt = bytes.subarray(0, 16)
  return timingSafeEqual(bytes.subarray(16), mac(salt, text))
}

/** A short hash, for identifiers that follow from the request. */
export const digest = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part).update("\0")
  return hash.digest("hex")
}
