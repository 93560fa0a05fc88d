/** Requests made from the document, right ones and almost right ones, against the running gateway. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { contract } from "../../support/contract.ts"
import { type Gateway, startGateway } from "../../support/gateway.ts"
import { makeGenerator, makeRandom } from "../../support/generate.ts"
import { post } from "../../support/http.ts"
import type { JsonSchema } from "../../support/jsonSchema.ts"

const seed = 20260101
const count = 30

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

const follow = (reference: string): JsonSchema =>
  reference
    .slice(2)
    .split("/")
    .reduce((value: JsonSchema, key) => Object(value[key]), Object(contract))

const schemas = Object.entries(contract.paths).flatMap(([path, item]) => {
  const schema: JsonSchema | undefined = Object(item.post).requestBody?.content["application/json"].schema
  return schema === undefined ? [] : [[path, schema] as const]
})

/** A message tells what is wrong in words; nothing of a library's, of a stack, or of a template that was not filled. */
const leaks = /\bundefined\b|\[object|(?:^|: )Expected |NaN|\bat .*\.ts|Effect|Schema\b/

describe(`requests made from the document (seed ${seed})`, () => {
  it.each(schemas)("%s answers each as the document says, and none with a failure of its own", async (path, schema) => {
    const { generate, spoil } = makeGenerator(follow, makeRandom(seed))
    const statuses = new Map<number, number>()
    for (let n = 0; n < count; n++) {
      const right = generate(schema)
      for (const body of [right, spoil(right)]) {
        const shown = `${path} ${JSON.stringify(body).slice(0, 2000)}`
        const got = await post(gateway.url + path, body).catch((error: unknown) => assert.fail(`${shown}: ${error}`))
        statuses.set(got.status, (statuses.get(got.status) ?? 0) + 1)
        assert.include([200, 400], got.status, `${shown}: ${got.text}`)
        // What a cloud says is the cloud's own.
        const own = got.headers.get("x-gateway-served-by") === null
        if (got.status === 400 && own) assert.notMatch(got.json.error.message, leaks, shown)
      }
    }
    // Both are among them, or the requests say nothing.
    assert.isAbove(statuses.get(200) ?? 0, 5, `${path}: too few are served`)
    assert.isAbove(statuses.get(400) ?? 0, 5, `${path}: too few are refused`)
  })

  it.each(schemas)("%s refuses a request that lacks what the document requires", async (path, schema) => {
    const { generate } = makeGenerator(follow, makeRandom(seed))
    const whole = typeof schema.$ref === "string" ? follow(schema.$ref) : schema
    for (const name of Array.isArray(whole.required) ? whole.required : []) {
      // Of a model that is served: with any other, the model is what is wrong first.
      const [{ model }] = Object(whole.examples)
      const { [String(name)]: _, ...rest } = { ...Object(generate(schema)), model }
      const { status, json } = await post(gateway.url + path, rest)
      assert.strictEqual(status, 400)
      assert.include(json.error.message, `${name}`)
    }
  })
})
