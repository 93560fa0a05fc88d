import { DateTime } from "effect"
import { digestOf, type Key } from "../../src/access/KeyFile.ts"

const time = DateTime.makeUnsafe("2026-01-01T00:00:00Z")

/** A key with these limits. Its ID is new, so that tests which share a store do not meet. */
export const keyWith = (limits: Partial<Key>): Key => ({
  id: `key_${crypto.randomUUID().slice(0, 8)}`,
  name: "test",
  digest: digestOf("test"),
  created: time,
  acknowledged: time,
  ...limits
})
