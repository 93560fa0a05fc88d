/** What is held of a stream is counted, whatever the cloud says in it (docs/api.md#when-a-cloud-fails). */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { Guard } from "../../src/guards/Guard.ts"
import { guardStream } from "../../src/guards/guardStream.ts"
import { guardedAlone } from "../support/heldAlone.ts"
import { eventOf } from "../support/protocols.ts"
import { type Measured, names, task } from "./heldOf.ts"

/** What the engine makes of code that runs often, in bytes. */
const noise = 1024 * 1024

let measured: ReadonlyMap<string, Measured>
beforeAll(async () => {
  const thread = new Worker(new URL("heldOf.ts", import.meta.url), { workerData: task })
  const [message] = await once(thread, "message")
  measured = message
})

describe("a stream holds no more than is counted", () => {
  it.each(names)("%s", (name) => {
    const { counted = 0, grown } = measured.get(name) ?? {}
    expect(grown).toBeLessThan(counted + noise)
  })
})

describe.each([
  ["that does not answer", Effect.never],
  ["that answers", Effect.undefined]
] as const)("beside a guard that flags, and %s", (_, judge) => {
  const words = `${"Some words ".repeat(100)}. `
  it.each([
    ["messages", { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: words } }],
    ["responses", { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: words }]
  ] as const)("a stream of %s counts what waits", async (surface, said) => {
    const frames = Array.from({ length: 201 }, () => eventOf(said))
    const guard: Guard = {
      name: "",
      action: "flag",
      when: "after",
      hold: "sentence",
      onFailure: "pass",
      judge: () => judge
    }
    let [counted, waiting] = [0, 0]
    const hold = (more: number, all: number) => {
      counted += more
      waiting = all
      return undefined
    }
    const guarded = guardStream({ ...guardedAlone(surface, [guard]), hold })
    await Effect.runPromise(
      Stream.fromIterable(frames).pipe(Stream.rechunk(1), guarded, Stream.take(200), Stream.runDrain)
    )
    if (judge === Effect.never) expect(waiting).toBeGreaterThanOrEqual(200 * words.length)
    else expect(waiting).toBeLessThan(10 * words.length)
    expect(counted).toBeGreaterThanOrEqual(waiting)
  })
})
