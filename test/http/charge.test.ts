/** What a request is charged, by how it ended (docs/decisions.md#limits-and-quotas), and which of its time was not a cloud's. */
import { expect, it, vi } from "@effect/vitest"
import { invalid } from "../../src/catalog/GatewayError.ts"
import { emptyRecord } from "../support/emptyRecord.ts"

const newRecord = () => emptyRecord("chat")

const complete = {
  attempts: [{ sent: true }],
  counted: true,
  events: 20,
  inputEstimate: 5,
  outcome: undefined,
  received: 4000,
  status: 200,
  stream: true,
  streamEnd: "complete",
  surface: "chat",
  tokens: { input: 12, output: 7 }
} as const
const left = { counted: false, streamEnd: "cancelled" } as const
const cut = { counted: false, streamEnd: "error", outcome: "cut" } as const
const whole = { counted: false, events: 0, stream: false, streamEnd: undefined } as const
const broken = { ...whole, outcome: "upstream_error", status: 502 } as const
const estimated = true

it.each([
  ["what the cloud counted", {}, { input: 12, output: 7 }],
  [
    "at least a quarter of the bytes where the caller left before the count",
    left,
    { input: 12, output: 1000, estimated }
  ],
  ["the cloud's count where it came, however the stream ended", { ...left, counted: true }, { input: 12, output: 7 }],
  ["a quarter of the bytes where it counted nothing", { tokens: undefined }, { input: 5, output: 1000, estimated }],
  [
    "the same where it counts none for words",
    { tokens: { input: 12, output: 0 } },
    { input: 12, output: 1000, estimated }
  ],
  ["nothing more where it said nothing", { received: 0, tokens: { input: 12, output: 0 } }, { input: 12, output: 0 }],
  [
    "an estimate that was made before",
    { ...left, tokens: { input: 3, output: 2, estimated } },
    { input: 3, output: 2, estimated }
  ],
  ["an event is at least a token", { ...left, received: 8 }, { input: 12, output: 20, estimated }],
  [
    "the count so far, where it is more",
    { ...left, tokens: { input: 0, output: 2000 } },
    { input: 5, output: 2000, estimated }
  ],
  ["what came before it broke off", { ...cut, tokens: undefined }, { input: 5, output: 1000, estimated }],
  ["a whole reply as the cloud counted it", whole, { input: 12, output: 7 }],
  ["a whole reply that it did not count", { ...whole, tokens: undefined }, { input: 5, output: 1000, estimated }],
  [
    "the same where it counts nothing at all",
    { ...whole, tokens: { input: 0, output: 0 } },
    { input: 5, output: 1000, estimated }
  ],
  ["a whole reply that is no use", { ...broken, tokens: undefined }, { input: 5, output: 1000, estimated }],
  [
    "nothing for a failure before the first word",
    { ...cut, events: 1, received: 0, status: 502, tokens: undefined },
    undefined
  ],
  ["nothing for a refusal", { ...broken, received: 0, tokens: undefined }, undefined],
  ["a vector's input", { ...whole, surface: "embeddings", tokens: { input: 9, output: 0 } }, { input: 9, output: 0 }],
  [
    "the input of vectors that were given up",
    { ...whole, surface: "embeddings", outcome: "cancelled", tokens: undefined },
    { input: 5, output: 0, estimated }
  ],
  ["nothing where nothing was sent", { attempts: [{ sent: false }], tokens: undefined }, undefined],
  ["nothing where it is free", { inputEstimate: undefined, tokens: undefined }, undefined]
] as const)("%s", (_, facts, expected) =>
  expect(Object.assign(newRecord(), { ...complete, ...facts }).charged).toEqual(expected)
)

it("ends as it failed, also where its caller then left", () => {
  const record = newRecord()
  expect(record.finalOutcome(true)).toBe("cancelled")
  record.filtered = true
  expect(record.finalOutcome(false)).toBe("filtered")
  record.fail(invalid(""))
  expect(record.finalOutcome(true)).toBe("invalid")
})

it("what the calls of a request have in common is a cloud's time once", () => {
  const clock = vi.spyOn(performance, "now").mockReturnValue(1000)
  const record = newRecord()
  const periods = [
    [10, 30],
    [20, 40],
    [25, 30],
    [50, 60]
  ] as const
  const attempts = periods.map((ends) => ({
    sent: true,
    span: { period: () => ends.map((millis) => BigInt(millis) * 1_000_000n) }
  }))
  clock.mockReturnValue(1100)
  const { overhead } = Object.assign(record, { attempts })
  clock.mockRestore()
  expect(overhead).toBe(60)
})
