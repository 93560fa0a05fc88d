/** Work in slices goes on by itself, wherever the fiber that asked for it gives way to others. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, References } from "effect"
import { inOneTurn, inSlices, type Slices } from "../../src/wire/slices.ts"

/** Longer than slices may take of one turn of the event loop. */
const spend = () => {
  const until = performance.now() + 6
  while (performance.now() < until);
}

function* slices(): Slices<string> {
  for (let slice = 0; slice < 3; slice++) {
    spend()
    yield
  }
  return "done"
}

const works = {
  "in slices": Effect.suspend(() => inSlices(slices())),
  "in one turn": Effect.andThen(
    Effect.suspend(() => inOneTurn(spend)),
    inOneTurn(() => "done")
  )
}

describe.each(Object.entries(works))("work %s", (_, work) => {
  // After so many steps; a fiber that has done much does so at any.
  it.live.each(Array.from({ length: 12 }, (_, at) => at + 3))("whose fiber gives way after %d steps", (steps) =>
    work.pipe(
      Effect.provideService(References.MaxOpsBeforeYield, steps),
      Effect.map((value) => assert.strictEqual(value, "done")),
      Effect.timeout("2 seconds")
    )
  )
})
