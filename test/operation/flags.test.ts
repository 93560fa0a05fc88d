/** The flags that `src/installed.js` sets are ones that this Node has: V8 takes others without a word. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"

const source = readFileSync(join(import.meta.dirname, "../../src/installed.js"), "utf8")
const flags = [...source.matchAll(/setFlagsFromString\("--(?:no-)?([\w-]+)/g)].map(([, name]) => `--${name} `)

it("every flag of V8 that is set is known to it", () => {
  const known = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8", maxBuffer: 16 * 2 ** 20 })
  assert.isAtLeast(flags.length, 4)
  assert.deepStrictEqual(
    flags.filter((flag) => !known.includes(`  ${flag}`)),
    []
  )
})
