/** The span of a call that no one looks at. */
import type { CallSpan } from "../../src/telemetry/spans.ts"

const nothing = () => {}

export const noSpan: CallSpan = {
  answered: nothing,
  named: () => true,
  chunk: nothing,
  received: nothing,
  cancelled: nothing,
  used: nothing,
  firstToken: nothing,
  fail: nothing,
  period: () => [0n, 0n],
  end: nothing
}
