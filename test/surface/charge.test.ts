/** What a request is charged, by how it ended (docs/decisions.md#limits-and-quotas). */
import { expect, it } from "@effect/vitest"
import { chargedTokens } from "../../src/surface/charge.ts"

const complete = {
  bytesOut: 4000,
  call: { sent: true },
  early: false,
  events: 20,
  inputEstimate: 5,
  outcome: undefined,
  route: undefined,
  status: 200,
  streamEnd: "complete",
  tokens: { input: 12, output: 7 }
} as const

it.each([
  ["what the cloud counted", {}, { input: 12, output: 7 }],
  ["an estimate where it counted nothing", { tokens: undefined }, { input: 5, output: 1000 }],
  [
    "the events of a stream that ended at a stop sequence: the cloud had not counted them",
    { early: true, tokens: { input: 12, output: 1 } },
    { input: 12, output: 20 }
  ],
  ["the same with an estimated input", { early: true, tokens: undefined }, { input: 5, output: 20 }],
  ["what came before the caller left", { streamEnd: "cancelled" }, { input: 12, output: 20 }],
  ["nothing where nothing was sent", { call: { sent: false }, tokens: undefined }, undefined],
  ["nothing where it is free", { inputEstimate: undefined, tokens: undefined }, undefined]
] as const)("%s", (_, facts, expected) => expect(chargedTokens({ ...complete, ...facts })).toEqual(expected))
