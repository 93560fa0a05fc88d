/** What a stage of a streamed reply keeps when it ends or fails, and that it does not matter how its items came. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Schema, Stream } from "effect"
import { failed, type Stage, type Step, stage } from "../../src/stream/reply.ts"

type Outcome<B> = { readonly items: ReadonlyArray<B>; readonly end: string }

/** What comes of a stream, item by item, and how it ends. */
const outcomeOf = <B>(stream: Stream.Stream<B, string>): Outcome<B> => {
  const items: Array<B> = []
  const exit = Effect.runSyncExit(Stream.runForEach(stream, (item) => Effect.sync(() => items.push(item))))
  const end = Exit.isSuccess(exit) ? "done" : Option.getOrElse(Cause.findErrorOption(exit.cause), () => "defect")
  return { items, end }
}

/** A stream that brings these arrays, and then ends or fails. */
const arrays = (cut: ReadonlyArray<ReadonlyArray<number>>, failure?: string): Stream.Stream<number, string> => {
  const all = Stream.flatMap(Stream.fromIterable(cut), (items) => Stream.fromIterable(items))
  return failure === undefined ? all : Stream.concat(all, Stream.fail(failure))
}

/** Doubles; ends at 0, fails at less. */
const doubling = (): Stage<number, number, string> => {
  const onArray = (items: ReadonlyArray<number>): Step<number, string> => {
    const at = items.findIndex((item) => item <= 0)
    if (at < 0) return { emit: items.map((item) => item * 2) }
    return {
      emit: items.slice(0, at).map((item) => item * 2),
      end: items[at] === 0 ? Cause.done() : Effect.fail("negative")
    }
  }
  return { onArray, onDone: () => ({ emit: [1_000] }), onFailure: failed }
}

const doubled = stage(doubling)

describe("a stage", () => {
  it.each<[string, ReadonlyArray<ReadonlyArray<number>>, string | undefined, Outcome<number>]>([
    ["emits its last words at the end", [[1, 2], [3]], undefined, { items: [2, 4, 6, 1_000], end: "done" }],
    ["has last words for a stream of nothing", [], undefined, { items: [1_000], end: "done" }],
    ["keeps what came before it ends", [[1], [2, 0, 3]], undefined, { items: [2, 4], end: "done" }],
    ["keeps what came before it fails", [[1], [2, -1, 3], [4]], undefined, { items: [2, 4], end: "negative" }],
    ["fails where nothing came before", [[-1]], undefined, { items: [], end: "negative" }],
    ["ends where nothing came before", [[0], [1]], undefined, { items: [], end: "done" }],
    ["has no last words for a stream that fails", [[1]], "cut", { items: [2], end: "cut" }],
    ["does not read on after its end", [[1, 0], [2]], "cut", { items: [2], end: "done" }]
  ])("%s", (_, cut, failure, expected) => {
    assert.deepStrictEqual(outcomeOf(doubled(arrays(cut, failure))), expected)
  })

  it("may fail or say nothing at the end", () => {
    const ending = (last: Step<number, string>) =>
      outcomeOf(stage<number, number, string>(() => ({ ...doubling(), onDone: () => last }))(arrays([[1]])))
    assert.deepStrictEqual(ending({ emit: [] }), { items: [2], end: "done" })
    assert.deepStrictEqual(ending({ emit: [], end: Exit.fail("cut") }), { items: [2], end: "cut" })
    assert.deepStrictEqual(ending({ emit: [7], end: Exit.fail("cut") }), { items: [2, 7], end: "cut" })
  })

  it("may have last words for a stream that fails, and end well after them", () => {
    const outcome = (last: Step<number, string>) =>
      outcomeOf(stage<number, number, string>(() => ({ ...doubling(), onFailure: () => last }))(arrays([[1]], "cut")))
    assert.deepStrictEqual(outcome({ emit: [7], end: Cause.done() }), { items: [2, 7], end: "done" })
    assert.deepStrictEqual(outcome({ emit: [], end: Exit.fail("other") }), { items: [2], end: "other" })
  })

  it("has a state for each stream", () => {
    const numbered = stage<number, number, string>(() => {
      let count = 0
      return { ...doubling(), onArray: (items) => ({ emit: items.map(() => ++count) }) }
    })(arrays([[5, 5], [5]]))
    for (let runs = 0; runs < 2; runs++) assert.deepStrictEqual(outcomeOf(numbered).items, [1, 2, 3, 1_000])
  })

  it("asks for no more than its reader does", () => {
    let asked = 0
    const endless = Stream.fromPull(Effect.succeed(Effect.sync((): [number] => [++asked])))
    assert.deepStrictEqual(outcomeOf(Stream.take(doubled(endless), 3)).items, [2, 4, 6])
    assert.strictEqual(asked, 3)
  })

  it("reads on past arrays of which nothing comes", () => {
    const quiet = stage<number, number, string>(() => ({
      ...doubling(),
      onArray: (items) => ({ emit: items.filter((item) => item === 9_999) })
    }))
    const many = Array.from({ length: 10_000 }, (_, at) => [at])
    assert.deepStrictEqual(outcomeOf(quiet(arrays(many))).items, [9_999, 1_000])
  })

  it("passes on what is no failure", () => {
    const defect: Stage<number, number, string> = {
      ...doubling(),
      onArray: () => {
        throw new Error("a defect")
      }
    }
    assert.strictEqual(outcomeOf(stage(() => defect)(arrays([[1]]))).end, "defect")
    const interrupted = Effect.runSyncExit(Stream.runDrain(doubled(Stream.fromEffect(Effect.interrupt))))
    assert.isTrue(Exit.isFailure(interrupted) && Cause.hasInterruptsOnly(interrupted.cause))
  })

  const Items = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 9 })))
  it.prop(
    "does the same wherever its arrays are cut",
    [Items, Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 }))), Schema.Boolean],
    ([items, sizes, fails]) => {
      const cut: Array<ReadonlyArray<number>> = []
      let at = 0
      for (const size of [...sizes, items.length]) {
        cut.push(items.slice(at, at + size))
        at += size
      }
      const failure = fails ? "cut" : undefined
      assert.deepStrictEqual(outcomeOf(doubled(arrays(cut, failure))), outcomeOf(doubled(arrays([items], failure))))
      const single = items.map((item) => [item])
      assert.deepStrictEqual(outcomeOf(doubled(arrays(cut, failure))), outcomeOf(doubled(arrays(single, failure))))
    }
  )
})
