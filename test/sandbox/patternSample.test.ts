import { assert, it } from "@effect/vitest"
import { patternSample } from "../../src/sandbox/patternSample.ts"
import { processorTime } from "../support/processorTime.ts"

it.each<[string, number, string | undefined]>([
  ["^\\d{3}\\-\\d{4}$", 0, "000-0000"],
  ["^[\\w.-]+@[a-z]+\\.\\w{2,}$", 0, "a@a.aa"],
  ["^[A-Z]{2,4}-?(?:x|y)*$", 0, "AA"],
  ["^[A-Z]{2,4}-?(?:x|y)*$", 5, "AAAAxxxxx"],
  ["one|two", 0, "one"],
  ["", 3, ""],
  ["(a)\\1", 0, undefined],
  ["((((a{99}){99}){99}){99})", 0, undefined],
  [`(?:){${"9".repeat(400)}}`, 0, ""]
])("%s of %i characters", (pattern, least, text) => assert.strictEqual(patternSample(pattern, least), text))

it("is read, not run", () => {
  for (const pattern of ["(a+)+b", "(".repeat(500), "(a|b".repeat(100), "[".repeat(500), "[^a]".repeat(125)])
    assert.isBelow(
      processorTime(() => patternSample(pattern, 1000)),
      200
    )
})
