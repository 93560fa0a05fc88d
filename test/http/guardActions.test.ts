/** What the record of a request says that guards did. */
import { expect, it } from "@effect/vitest"
import { emptyRecord } from "../support/emptyRecord.ts"

it("names each action of a guard once, with all its categories, and counts every time", () => {
  const record = emptyRecord("chat")
  record.addGuardAction({ guard: "a", action: "flag", categories: ["x"] })
  record.addGuardAction({ guard: "a", action: "redact", categories: ["y"] })
  record.addGuardAction({ guard: "b", action: "flag", categories: ["z"] })
  record.addGuardAction({ guard: "a", action: "flag", categories: ["x", "w"] })
  expect(record.guardActions).toEqual([
    { guard: "a", action: "redact", categories: ["y"] },
    { guard: "b", action: "flag", categories: ["z"] },
    { guard: "a", action: "flag", categories: ["x", "w"] }
  ])
  expect(record.guardCounts).toEqual({ a: 3, b: 1 })
})
