/** The short form of `npm run fuzz`: the same inputs each time. */
import { describe, it } from "@effect/vitest"
import { targets } from "./targets.ts"

describe("inputs that are almost right", () => {
  it.each(targets.map((target) => [target.name, target] as const))("break nothing: %s", async (name, { run }) => {
    await run({ seed: 1, runs: name === "catalogs" || name === "key files" ? 150 : 60 })
  })
})
