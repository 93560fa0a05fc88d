import { assert, it } from "@effect/vitest"
import { makeRestoring } from "../../src/operators/usage/summary.ts"
import { chained, line } from "./records.ts"

const restored = (now: number, lines: ReadonlyArray<string | undefined>) => {
  const restoring = makeRestoring(now)
  for (const [at, text] of lines.entries()) restoring.line(text, { file: "f", line: at + 1 })
  const { counts, ...rest } = restoring.result()
  return { ...rest, counts: Object.fromEntries(counts.map(({ account, amount }) => [account.name, amount])) }
}
/** What the records are from. */
const day = Date.UTC(2026, 10, 21)

it("this month's and today's tokens and money of keys and teams come back from the records", () => {
  const { counts, damaged, records } = restored(day + 86_400_000 - 1, [
    line(1, { team: "blue", cost: 7 }),
    line(2, { tokens: { input: 1, output: 2 } }),
    line(3, { tokens: null, outcome: "quota", status: 429 }),
    line(4, { key_id: null }),
    // Of the day before, and of the month before.
    line(-1, { cost: 5 }),
    line(-30 * 86_400_000, { cost: 1000 }),
    ...["", "x", undefined, '{"level":"info"}'],
    line(5, { tokens: { input: -5, output: Number.NaN } })
  ])
  assert.deepEqual(counts, {
    "key_1:last-use": day + 5,
    "key_1:2026-11": 63,
    "key_1:cost:2026-11": 12,
    "key_1:2026-11-21": 33,
    "key_1:cost:2026-11-21": 7,
    "team/blue:2026-11": 30,
    "team/blue:cost:2026-11": 7,
    "team/blue:2026-11-21": 30,
    "team/blue:cost:2026-11-21": 7
  })
  assert.deepEqual([records, damaged], [6, 2])
})

it("a request with a secret that works no more is no use of its key", () => {
  const refused = { tokens: null, outcome: "unauthenticated", status: 403 } as const
  assert.deepEqual(restored(day, [line(1), line(2, refused)]).counts["key_1:last-use"], day + 1)
})

it("what was written twice counts once", () => {
  const lines = chained(3)
  assert.strictEqual(restored(day, [...lines, ...lines]).counts["key_1:2026-11"], 90)
})

it("a time that is none makes no count", () => {
  const event = { class_uid: 6003, unmapped: JSON.parse(line(1)) }
  const lines = [
    line(1, { time: "2026-11-99T00:00:00.000Z" }),
    line(2, { time: "xxxxxxxxxxTxxxxxxxxxxxxZ" }),
    JSON.stringify({ ...event, time: 1e300 })
  ]
  assert.deepEqual(restored(day, lines), { counts: {}, records: 0, damaged: 3 })
})
