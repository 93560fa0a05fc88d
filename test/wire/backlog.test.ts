import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Scope } from "effect"
import { Backlog, backlogLayer } from "../../src/wire/Backlog.ts"

/** What was done, in order; `note` makes the work that says so. */
const makeNotes = () => {
  const done: Array<string> = []
  return { done, note: (text: string) => () => void done.push(text) }
}

const withBacklog = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const logged: Array<unknown> = []
  const logger = Logger.layer([Logger.make(({ message }) => logged.push(message))])
  const context = yield* Layer.buildWithScope(Layer.provideMerge(backlogLayer, logger), scope)
  const { add, clear } = yield* Effect.provideContext(Backlog, context)
  return { add, clear, close: Scope.close(scope, Exit.void), logged }
})

describe("Backlog", () => {
  it("does work at once where nothing puts it off", () => {
    const { done, note } = makeNotes()
    Effect.runSync(Backlog).add(note("a"))
    assert.deepEqual(done, ["a"])
  })

  it.live("does it together, soon, and in its order", () =>
    Effect.gen(function* () {
      const { done, note } = makeNotes()
      const { add, close } = yield* withBacklog
      add(note("a"))
      add(note("b"))
      assert.deepEqual(done, [])
      yield* Effect.sleep("100 millis")
      assert.deepEqual(done, ["a", "b"])
      add(note("c"))
      assert.deepEqual(done, ["a", "b"])
      yield* Effect.sleep("100 millis")
      assert.deepEqual(done, ["a", "b", "c"])
      yield* close
    })
  )

  it.effect("does not let more than some wait", () =>
    Effect.gen(function* () {
      const { done, note } = makeNotes()
      const { add, close } = yield* withBacklog
      for (let count = 0; count < 100; count++) add(note(String(count)))
      assert.isAtLeast(done.length, 84)
      yield* close
      assert.deepEqual(done.map(Number), [...Array(100).keys()])
    })
  )

  it.effect("is done when it is asked for, and once", () =>
    Effect.gen(function* () {
      const { done, note } = makeNotes()
      const { add, clear, close } = yield* withBacklog
      add(note("a"))
      clear()
      assert.deepEqual(done, ["a"])
      clear()
      yield* close
      assert.deepEqual(done, ["a"])
    })
  )

  it.effect("leaves nothing behind when it ends, and puts nothing off then", () =>
    Effect.gen(function* () {
      const { done, note } = makeNotes()
      const { add, close } = yield* withBacklog
      add(note("a"))
      yield* close
      assert.deepEqual(done, ["a"])
      add(note("b"))
      assert.deepEqual(done, ["a", "b"])
    })
  )

  it.effect("does the rest after a defect, and logs it", () =>
    Effect.gen(function* () {
      const { done, note } = makeNotes()
      const { add, clear, close, logged } = yield* withBacklog
      add(() => {
        throw new Error("of ours")
      })
      add(note("a"))
      clear()
      assert.deepEqual(done, ["a"])
      assert.lengthOf(logged, 1)
      yield* close
    })
  )

  it.effect("takes work from work", () =>
    Effect.gen(function* () {
      const { done, note } = makeNotes()
      const { add, clear, close } = yield* withBacklog
      add(() => add(note("a")))
      clear()
      assert.deepEqual(done, [])
      yield* close
      assert.deepEqual(done, ["a"])
    })
  )
})
