import { Writable } from "node:stream"
import { expect, it } from "vitest"
import { writesTogether } from "../../src/wire/writes.ts"

/** What left, and when. */
const pipes = (names: ReadonlyArray<string>) => {
  const left: Array<string> = []
  const together = writesTogether(4)
  const made = names.map((name) => {
    const pipe = new Writable({
      write: (chunk, _, done) => {
        left.push(`${name}:${chunk}`)
        done()
      },
      writev: (chunks, done) => {
        left.push(`${name}:${chunks.map(({ chunk }) => chunk).join("+")}`)
        done()
      }
    })
    together(pipe as unknown as Parameters<typeof together>[0])
    return pipe
  })
  return { left, made }
}
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

it("lets the writes of one turn leave at its end, in their order", async () => {
  const { left, made } = pipes(["a", "b"])
  const [a, b] = made
  a?.write("1")
  b?.write("2")
  await Promise.resolve()
  expect(left).toEqual([])
  await turn()
  expect(left).toEqual(["a:1", "b:2"])
  b?.write("3")
  await turn()
  expect(left).toEqual(["a:1", "b:2", "b:3"])
})

it("writes pieces that came together in one go, and loses none that follows", async () => {
  const { left, made } = pipes(["a"])
  const [a] = made
  a?.cork()
  a?.write("1")
  a?.write("2")
  a?.uncork()
  a?.end("3")
  await new Promise((resolve) => a?.once("finish", resolve))
  expect(left).toEqual(["a:1+2", "a:3"])
})

it("does not let more than so many wait for the end of a long turn", () => {
  const { left, made } = pipes(Array.from({ length: 5 }, (_, at) => String(at)))
  for (const pipe of made) pipe.write("x")
  expect(left).toHaveLength(4)
})
