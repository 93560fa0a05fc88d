/** What the record of a request says that guards did. */
import { expect, it } from "@effect/vitest"
import { RequestRecord } from "../../src/http/RequestRecord.ts"

it("names each action of a guard once, with all its categories, and counts every time", () => {
  const record = new RequestRecord({
    id: "",
    startedAt: 0,
    method: "",
    path: "",
    source: undefined,
    surface: "chat"
  })
  record.addGuardActions([
    { guard: "a", action: "flag", categories: ["x"] },
    { guard: "a", action: "redact", categories: ["y"] },
    { guard: "b", action: "flag", categories: ["z"] }
  ])
  record.addGuardActions([{ guard: "a", action: "flag", categories: ["x", "w"] }])
  expect(record.guardActions).toEqual([
    { guard: "a", action: "redact", categories: ["y"] },
    { guard: "b", action: "flag", categories: ["z"] },
    { guard: "a", action: "flag", categories: ["x", "w"] }
  ])
  expect(record.guardCounts).toEqual({ a: 3, b: 1 })
})
