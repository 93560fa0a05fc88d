/** Tools on the chat surface: the screen and the scan (docs/api.md#tool-screen, docs/api.md#tool-call-scan). */
import { assert, describe, it } from "@effect/vitest"
import { forbiddenNames } from "../../../src/governance/forbiddenNames.ts"
import { chat, folded, functionTool, ok } from "../../support/chat.ts"
import { kinds, type Said, sixModels } from "../../support/chatKinds.ts"
import { answering, fakeUpstream, reply, streaming } from "../../support/fakeUpstream.ts"
import { cloudsAt, startGateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const path = "/v1/chat/completions"
const gateway = sharedGateway()
const strict = sharedGateway({ settings: { GATEWAY_SCREEN_MODE: "strict" } })

const create = (body: unknown, at = gateway) => post(at.url + path, body)
const model = "claude-sonnet-4-5:il5"
const object = (properties: Record<string, unknown>) => ({ type: "object", properties })
const string = { type: "string" }
const offer = (...tools: ReadonlyArray<unknown>) => chat(model, "hi", { tools })
const refuses = async (body: unknown, tool: string, parameter: string, at = gateway) => {
  const before = at.calls().length
  const got = await create(body, at)
  assert.strictEqual(got.status, 400, got.text)
  assert.strictEqual(got.json.error.type, "invalid_request_error")
  assert.include(got.json.error.message, `'${tool}'`)
  assert.include(got.json.error.message, `'${parameter}'`)
  assert.strictEqual(at.calls().length, before, "nothing goes upstream")
}

describe("the screen", () => {
  it("refuses every listed name, in any case, on every model", async () => {
    for (const [at, name] of forbiddenNames.entries()) {
      const id = sixModels[at % sixModels.length] ?? model
      for (const written of [name, name.toUpperCase()]) {
        await refuses(
          chat(id, "hi", {
            tools: [functionTool("ok", object({ url: string })), functionTool("send", object({ [written]: string }))]
          }),
          "send",
          written
        )
      }
    }
  })

  it.each(
    Object.entries({
      nested: object({ a: object({ webhook: string }) }),
      items: object({ a: { type: "array", items: object({ webhook: string }) } }),
      prefixItems: object({ a: { type: "array", prefixItems: [string, object({ webhook: string })] } }),
      $defs: { ...object({ a: { $ref: "#/$defs/x" } }), $defs: { x: object({ webhook: string }) } },
      definitions: { ...object({}), definitions: { x: object({ webhook: string }) } },
      oneOf: { oneOf: [string, object({ webhook: string })] },
      anyOf: object({ a: { anyOf: [object({ webhook: string })] } }),
      allOf: { allOf: [object({ webhook: string })] },
      not: { not: object({ webhook: string }) },
      if: { if: {}, else: object({ webhook: string }) },
      additionalProperties: { type: "object", additionalProperties: object({ webhook: string }) },
      patternProperties: { type: "object", patternProperties: { "^x": object({ webhook: string }) } },
      dependentSchemas: { dependentSchemas: { a: object({ webhook: string }) } }
    })
  )("refuses one in %s", (_, parameters) => refuses(offer(functionTool("f", parameters)), "f", "webhook"))

  const hidden = object({ webhook: string })
  it.each(
    Object.entries({
      "a tuple that is renamed": object({
        a: { $ref: "#/properties/b/default/items/0" },
        b: { default: { items: [{}], prefixItems: [hidden] } }
      }),
      "an example that is rewritten": object({
        a: { $ref: "#/properties/b/example/prefixItems/0" },
        b: { example: { items: [hidden] } }
      }),
      "a bound that is rewritten": object({
        a: { $ref: "#/properties/b/example/exclusiveMinimum" },
        b: { example: { minimum: hidden, exclusiveMinimum: true } }
      }),
      "properties that come to the root": {
        anyOf: [object({ a: { $ref: "#/properties/b/default" }, b: { default: hidden } })]
      },
      "branches that become a definition": {
        anyOf: [
          object({
            a: { $ref: "#/anyOf/0/properties/b" },
            b: { default: hidden },
            c: { $ref: "#/$defs/branches/anyOf/0/properties/b/default" }
          })
        ]
      },
      "a definition that becomes the root": {
        $ref: "#/$defs/x",
        $defs: { x: object({ a: { $ref: "#/properties/b/default" }, b: { default: hidden } }) }
      }
    })
  )("refuses one to which a reference leads only in what is sent: %s", async (what, parameters) => {
    const ids = what.endsWith("becomes the root") ? ["gemini-3-flash:il2"] : [model, "gpt-5.1:il5", "gpt-5.6-terra:il5"]
    for (const id of ids) await refuses(chat(id, "hi", { tools: [functionTool("f", parameters)] }), "f", "webhook")
  })

  it("passes names that are only values, and the names that are allowed", async () => {
    const parameters = {
      ...object({
        url: string,
        uri: string,
        endpoint: string,
        host: string,
        hostname: string,
        kind: { enum: ["webhook"] }
      }),
      description: "callback",
      default: { note: "destination" }
    }
    for (const id of sixModels) ok(await create(chat(id, "hi", { tools: [functionTool("f", parameters)] })))
  })

  it("sees through spelling tricks only in strict mode", async () => {
    for (const written of ["webhookUrl", "webhook-url", "ｗｅｂｈｏｏｋ", "web\u200bhook", "wеbhook"]) {
      // Claude takes only some of these names.
      const body = { ...offer(functionTool("f", object({ [written]: string }))), model: "gpt-5.1:il5" }
      ok(await create(body))
      await refuses(body, "f", written, strict)
    }
    ok(await create(offer(functionTool("f", object({ url: string, endpoint: string, hostname: string }))), strict))
  })

  it("refuses a schema that it cannot walk to its end", async () => {
    let deep: unknown = string
    for (let depth = 0; depth < 260; depth++) deep = { items: deep }
    const got = await create(offer(functionTool("f", deep)))
    assert.strictEqual(got.status, 400, got.text)
    assert.match(got.json.error.message, /deep/)
  })

  it("is not passed by __proto__", async () => {
    const body = JSON.stringify(offer(functionTool("f", "SCHEMA"))).replace(
      '"SCHEMA"',
      '{"type":"object","properties":{"__proto__":{"type":"object","properties":{"webhook":{}}}}}'
    )
    await refuses(body, "f", "webhook")
  })
})

describe("the scan", () => {
  const flagsOf = async (id: string, args: string, stream: boolean) => {
    const got = await create(
      chat(id, `[sandbox: tool=f args=${args}]`, { tools: [functionTool("f", object({ u: string }))], stream })
    )
    const governance = stream ? folded(got.text).governance : ok(got).x_gateway_governance
    return governance?.flags.map(({ destinations }: { destinations: unknown }) => destinations)
  }
  for (const id of sixModels) {
    it(`${id}: the same in both modes`, async () => {
      for (const stream of [false, true]) {
        for (const [args, expected] of [
          ['{"u":"HTTPS://Evil.example/a"}', ["HTTPS://Evil.example/a"]],
          ['{"u":"s3://bucket/key"}', ["s3://bucket/key"]],
          ['{"u":"ftp://h/x"}', ["ftp://h/x"]],
          ['{"u":"mailto:a@b.example"}', ["mailto:a@b.example"]],
          ['{"u":"data:text/plain,hi"}', ["data:text/plain,hi"]],
          ['{"u":"10.1.2.3:8080/x"}', ["10.1.2.3:8080/x"]],
          ['{"u":"{\\"v\\":\\"https:\\\\/\\\\/evil.example\\"}"}', ["https://evil.example"]],
          ['{"https://key.example":1}', ["https://key.example"]]
        ] as const) {
          assert.deepStrictEqual(await flagsOf(id, args, stream), [expected], `${args} ${stream}`)
        }
        for (const args of ['{"u":"999.1.1.1"}', '{"u":"1.2.3"}', '{"u":"example.com"}', '{"u":"Note: well"}']) {
          assert.isUndefined(await flagsOf(id, args, stream), args)
        }
      }
    })
  }

  it("alters nothing: numbers beyond 2^53 keep their digits too, there and back", async () => {
    const args = '{"u":"https://evil.example/?q=1&r=<","id":1234567890123456789,"x":1e400}'
    for (const kind of kinds) {
      const said = { calls: [{ id: "call_abc123", name: "f", pieces: [args] }] }
      // The clouds' own JSON holds the arguments of Claude and Gemini parsed.
      const digits = (text: string) => text.replaceAll('"BIG"', "1234567890123456789").replaceAll('"HUGE"', "1e400")
      const pieces = [args.replace("1234567890123456789", '"BIG"').replace("1e400", '"HUGE"')]
      const parsed =
        kind.name.startsWith("GPT") || kind.name.startsWith("gpt") ? said : { calls: [{ ...said.calls[0], pieces }] }
      const upstream = await fakeUpstream(
        answering(reply("200 OK", digits(JSON.stringify(kind.whole(parsed as Said)))))
      )
      const own = await startGateway({ settings: cloudsAt(upstream.url) })
      const tools = [functionTool("f")]
      const got = ok(await create(chat(kind.model, "hi", { tools }), own))
      const [call] = got.choices[0].message.tool_calls
      assert.strictEqual(call.function.arguments, args)
      assert.strictEqual(got.x_gateway_governance.flags[0].tool_call_id, call.id)

      const stream = kind.name === "Gemini" ? kind.events(parsed as Said) : kind.events(said)
      const frames = stream.map((event) =>
        kind.frame(typeof event === "string" ? event : digits(JSON.stringify(event)))
      )
      upstream.use(streaming(frames, { head: kind.head }))
      assert.strictEqual(
        folded((await create(chat(kind.model, "hi", { tools, stream: true }), own)).text).calls[0]?.arguments,
        args
      )

      upstream.use(answering(reply("200 OK", JSON.stringify(kind.whole({ texts: ["ok"] })))))
      const messages = [
        { role: "user", content: "hi" },
        got.choices[0].message,
        { role: "tool", tool_call_id: call.id, content: args }
      ]
      ok(await create({ model: kind.model, messages, tools }, own))
      assert.strictEqual(upstream.received.at(-1)?.body.match(/1234567890123456789/g)?.length, 2, kind.name)
      await own.stop()
      await upstream.stop()
    }
  })
})
