import { assert, it } from "@effect/vitest"
import { checkStrict } from "../../src/sandbox/openai/schemas.ts"
import { type Step, superlinear } from "../support/growth.ts"

it("looks for the properties of a strict schema in what it requires once", async () => {
  const work = (size: number) => {
    const names = Array.from({ length: size }, (_, at) => `p${at}`)
    const required = names.toReversed().map((name) => Buffer.from(name).toString())
    const properties = Object.fromEntries(names.map((name) => [name, {}]))
    const schema = { type: "object", properties, required, additionalProperties: false }
    return (step: Step) => step("schema", () => checkStrict(undefined, { name: "x", strict: true, schema }, "format"))
  }
  assert.deepStrictEqual(await superlinear(work, 5000), [])
})
