import type { GovernanceFlag } from "../../src/contract/Governance.ts"
import { type Accumulator, type Called, governanceOfCalls, makeAccumulator } from "../../src/governance/accumulate.ts"
import { runNow } from "../../src/wire/slices.ts"

/** The flag of one call, scanned as the contract says. */
export const flagCall = (call: Called): GovernanceFlag | undefined =>
  runNow(governanceOfCalls([call], "spec"))?.flags[0]

/** An accumulator, and its pieces by name. */
export const accumulating = () => {
  const accumulator: Accumulator = makeAccumulator()
  type Key = string | number
  return {
    ...accumulator,
    start: (key: Key, id: string, name: string) => accumulator.add({ type: "start", key, id, name }, 0),
    append: (key: Key, text: string) => accumulator.add({ type: "append", key, text }, 0),
    repeat: (key: Key, text: string) => accumulator.add({ type: "repeat", key, text }, 0),
    input: (key: Key, value: unknown) => accumulator.add({ type: "input", key, value }, 0),
    complete: (key: Key) => accumulator.add({ type: "end", key }, 0)
  }
}
