/** Tokens that were written to a prompt cache, in spans, metrics and records (docs/decisions.md#prices). */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { keysFileWith } from "../operation/keysFile.ts"
import { wholeMessage } from "../support/claude.ts"
import { answering, fakeUpstream, reply } from "../support/fakeUpstream.ts"
import { cloudsAt } from "../support/gateway.ts"
import { open as post } from "../support/http.ts"
import { startReceiver } from "./receiver.ts"
import { caller, exportTo, message, startProcess } from "./support.ts"

const usage = {
  input_tokens: 5,
  output_tokens: 7,
  cache_read_input_tokens: 4,
  cache_creation_input_tokens: 300,
  cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 }
}

it("are an attribute of the call's span, a metric, and both counts of the record", async () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-cache-"))
  const { file, secrets } = keysFileWith(directory, { k: {} })
  const said = wholeMessage([{ type: "text", text: "Hi." }], { usage })
  const upstream = await fakeUpstream(answering(reply("200 OK", JSON.stringify(said))))
  const receiver = await startReceiver()
  const gateway = await startProcess({
    ...exportTo(receiver.url),
    ...cloudsAt(upstream.url),
    GATEWAY_KEYS_FILE: file
  })
  try {
    for (const path of ["/v1/messages", "/v1/chat/completions"]) {
      const trace = caller()
      const got = await post(gateway.url + path, message("Hello"), { ...trace.headers, "x-api-key": secrets.k })
      assert.strictEqual(got.status, 200, await got.text())
      const call = await receiver.until(() =>
        receiver.spans.find(({ traceId, kind }) => traceId === trace.traceId && kind === 3)
      )
      assert.deepInclude(call.attributes, {
        "gen_ai.usage.input_tokens": 309,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.cache_write.input_tokens": 300
      })
      const record = new RegExp(`"request_id":"${got.headers.get("x-request-id")}".*`)
      while (!record.test(gateway.stdout())) await sleep(10)
      assert.match(record.exec(gateway.stdout())?.[0] ?? "", /"cache_writes":300,"cache_writes_1h":200/)
    }
    const counted = await receiver.until(() =>
      receiver
        .points()
        .find(({ name, value }) => name === "gen_ai.client.inference.usage.cache_write.input_tokens" && value === 600)
    )
    assert.strictEqual(counted.unit, "{token}")
  } finally {
    await gateway.stop()
    await receiver.stop()
    await upstream.stop()
    rmSync(directory, { recursive: true, force: true })
  }
})
