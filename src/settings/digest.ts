/** Which settings are in force, in one digest that can be compared; secrets are no part of it. */
import { hash } from "node:crypto"

/** SHA-256, hex. What is redacted prints as such, whatever it is. */
export const settingsDigest = (settings: object): string =>
  hash(
    "sha256",
    JSON.stringify(settings, (_, value: unknown) => (value instanceof Set ? [...value].sort() : value))
  )
