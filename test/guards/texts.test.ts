import { assert, it } from "@effect/vitest"
import { makeTexts } from "../../src/guards/texts.ts"
import { superlinear, type Work } from "../support/growth.ts"

it("long texts of one length are looked up in the time that they take to read", async () => {
  const work = (size: number): Work => {
    const end = (at: number) => String(at).padStart(6, "0")
    const texts = Array.from({ length: size }, (_, at) => Buffer.from("x".repeat(16_400) + end(at)).toString())
    return (step) =>
      step("texts", () => {
        const said = makeTexts(true)
        for (const text of texts) said.saidWhole(text, text)
        for (const text of texts) assert.isTrue(said.isKnown(Buffer.from(text).toString()))
      })
  }
  assert.deepStrictEqual(await superlinear(work, 100), [])
})
