import { IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeViewers } from "../../src/operators/status/layer.ts"

/** A viewer's connection: what it was sent, and how much of it is unread. */
class Viewer extends ServerResponse {
  readonly sent: Array<string> = []
  unread = 0
  gone = false
  constructor(method = "GET") {
    super(Object.assign(new IncomingMessage(new Socket()), { method }))
    Object.defineProperty(this, "writableLength", { get: () => this.unread })
  }
  override write(text: unknown): boolean {
    return this.sent.push(String(text)) > 0
  }
  override flushHeaders(): void {}
  override destroy(): this {
    this.gone = true
    this.emit("close")
    return this
  }
}

describe("viewers", () => {
  it.effect("share a view every two seconds, and none is made without viewers", () =>
    Effect.gen(function* () {
      let views = 0
      const addViewer = yield* makeViewers(Effect.sync(() => String(++views)))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(views, 0)
      const first = new Viewer()
      const second = new Viewer()
      addViewer(first, {})
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(first.sent, ["data: 1\n\n"])
      addViewer(second, {})
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(second.sent, ["data: 1\n\n"])
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(views, 3)
      assert.deepStrictEqual(first.sent, second.sent)
      first.destroy()
      second.destroy()
      yield* TestClock.adjust("1 minute")
      assert.isAtMost(views, 4)
      const third = new Viewer()
      addViewer(third, {})
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(third.sent, [`data: ${views}\n\n`])
    })
  )

  it.effect("are bounded, in number and in what they leave unread; HEAD is none", () =>
    Effect.gen(function* () {
      const addViewer = yield* makeViewers(Effect.succeed("x"))
      const heads = Array.from({ length: 33 }, () => new Viewer("HEAD"))
      for (const head of heads) addViewer(head, {})
      assert.isTrue(heads.every(({ statusCode, writableEnded }) => statusCode === 200 && writableEnded))
      const all = Array.from({ length: 33 }, () => new Viewer())
      for (const viewer of all) addViewer(viewer, {})
      assert.deepStrictEqual([...new Set(all.slice(0, 32).map(({ statusCode }) => statusCode))], [200])
      assert.strictEqual(all[32]?.statusCode, 503)
      const [slow, quick] = all
      if (slow !== undefined) slow.unread = 5_000_000
      yield* TestClock.adjust("2 seconds")
      assert.isTrue(slow?.gone)
      assert.isFalse(quick?.gone)
    })
  )
})
