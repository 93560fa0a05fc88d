import { assert, describe, it } from "@effect/vitest"
import { type Authorization, authorizedLevels } from "../../src/catalog/Level.ts"
import { levels } from "../../src/catalog/names.ts"
import { parseModelId } from "../../src/catalog/Resolver.ts"

describe("levels", () => {
  it("are the two ladders, itar, and each rung with itar", () => {
    assert.deepStrictEqual(levels, [
      ...["fedramp-low", "fedramp-moderate", "fedramp-high", "il2", "il4", "il5", "itar"],
      ...["fedramp-low+itar", "fedramp-moderate+itar", "fedramp-high+itar", "il2+itar", "il4+itar", "il5+itar"]
    ] as const)
  })

  const cases: ReadonlyArray<[name: string, authorization: Authorization, covered: ReadonlyArray<string>]> = [
    ["nothing", {}, []],
    ["a rung covers those before it", { fedramp: "fedramp-moderate" }, ["fedramp-low", "fedramp-moderate"]],
    ["ladders are independent", { fedramp: "fedramp-low", impact: "il4" }, ["fedramp-low", "il2", "il4"]],
    ["ladder", { impact: "il4", itar: "ladder" }, ["il2", "il4", "itar", "il2+itar", "il4+itar"]],
    ["only", { impact: "il4", itar: "only" }, ["itar", "il2+itar", "il4+itar"]],
    ["standalone", { impact: "il2", itar: "standalone" }, ["il2", "itar"]],
    ["standalone alone", { itar: "standalone" }, ["itar"]]
  ]
  it.each(cases)("authorization: %s", (_, authorization, covered) => {
    assert.deepStrictEqual<ReadonlyArray<string>>(authorizedLevels(authorization), covered)
  })
})

describe("parseModelId", () => {
  it("takes the level after the last colon", () => {
    assert.deepStrictEqual(parseModelId("a:b:il5+itar"), { base: "a:b", level: "il5+itar" })
  })

  it.each(levels)("finds %s", (level) => {
    assert.deepStrictEqual(parseModelId(`claude-opus-5:${level}`), { base: "claude-opus-5", level })
  })

  it.each([
    ["", ""],
    ["claude-opus-5", "claude-opus-5"],
    ["claude-opus-5\uff1ail5", "claude-opus-5\uff1ail5"],
    [":", ""],
    ["::", ":"],
    ["m:", "m"],
    ["m:il6", "m"],
    ["m:IL5", "m"],
    ["m:il5 ", "m"],
    ["m: il5", "m"],
    ["m:il5+itar+itar", "m"],
    ["m:itar+il5", "m"],
    ["m:itar+itar", "m"],
    ["m:+itar", "m"],
    ["m:__proto__", "m"]
  ] as const)("finds no level in %j", (text, base) => {
    assert.deepStrictEqual(parseModelId(text), { base, level: undefined })
  })
})
