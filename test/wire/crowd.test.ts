import { assert, describe, it } from "@effect/vitest"
import { Crowd } from "../../src/wire/Crowd.ts"

describe("Crowd", () => {
  it("holds who came and has not left", () => {
    const crowd = new Crowd<string>()
    const leave = ["a", "b", "c", "d"].map((name) => crowd.add(name))
    leave[1]?.()
    assert.sameMembers([...crowd], ["a", "c", "d"])
    leave[3]?.()
    leave[0]?.()
    assert.deepEqual([...crowd], ["c"])
    assert.strictEqual(crowd.size, 1)
    leave[2]?.()
    assert.strictEqual(crowd.size, 0)
  })

  it("lets nobody leave for another", () => {
    const crowd = new Crowd<string>()
    const leave = crowd.add("a")
    leave()
    crowd.add("b")
    leave()
    assert.deepEqual([...crowd], ["b"])
  })

  it("holds the same member twice", () => {
    const crowd = new Crowd<string>()
    const leave = crowd.add("a")
    crowd.add("a")
    leave()
    assert.deepEqual([...crowd], ["a"])
  })
})
