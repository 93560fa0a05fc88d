import { assert, describe, it } from "@effect/vitest"
import { message } from "../../support/claude.ts"
import { type Got, post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"
import { assertShortTurns } from "../../support/shortTurns.ts"

const gateway = sharedGateway()

describe("a tool", () => {
  it("whose type is long holds up nobody", async () => {
    const tools = [{ type: "a".repeat(10_000_000), name: "x" }]
    const body = JSON.stringify(message("claude-sonnet-4-5:il5", "hi", { tools }))
    let got: Got | undefined
    await assertShortTurns(150, async () => {
      got = await post(`${gateway.url}/v1/messages`, body)
    })
    assert.strictEqual(got?.status, 400)
    assert.include(got?.json.error.message, "tools.0.type: a text of more than")
  })
})
