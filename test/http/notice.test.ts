/** The operator's own usage notice, wherever the gateway shows one. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { usageNotice } from "../../src/contract/usageNotice.ts"
import { readNotice } from "../../src/settings/notice.ts"
import { start } from "../operation/child.ts"
import { startGateway } from "../support/gateway.ts"
import { get } from "../support/http.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-notice-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let made = 0
const fileWith = (content: string | Buffer): string => {
  const file = join(folder, `notice-${made++}.txt`)
  writeFileSync(file, content)
  return file
}
const words = "You are accessing a U.S. Government (USG) Information System (IS)."
const notice = `${words}\n\n- The USG <b>routinely</b> intercepts & monitors.\n- $& and </script> are text.`
const read = (file: string) => Effect.runPromise(readNotice(Option.some(file)))

describe("GATEWAY_NOTICE_FILE", () => {
  it("is shown at / and in /docs, as text and never as HTML, in place of the gateway's own", async () => {
    const file = fileWith(`\uFEFF${notice.replaceAll("\n", "\r\n")}\r\n`)
    const gateway = await startGateway({ settings: { GATEWAY_NOTICE_FILE: file }, docs: true })
    try {
      const { json } = await get(gateway.url, { accept: "application/json" })
      assert.strictEqual(json.notice, notice)
      const page = await get(gateway.url)
      assert.include(page.text, words)
      assert.include(page.text, "The USG &#60;b&#62;routinely&#60;/b&#62; intercepts &#38; monitors.")
      const docs = await get(`${gateway.url}/docs`)
      assert.include(docs.text, words)
      for (const { text } of [page, docs]) {
        assert.notInclude(text, usageNotice)
        assert.notInclude(text, "<b>routinely")
      }
      const { description } = (await get(`${gateway.url}/openapi.json`)).json.info
      assert.include(description, `> **Usage notice.** ${words}\n> \n> - The USG &#60;b&#62;`)
      assert.include(description, "$&#38; and &#60;/script&#62; are text.")
    } finally {
      await gateway.stop()
    }
  })

  it("is printed with a new key", async () => {
    const environment = { GATEWAY_NOTICE_FILE: fileWith(notice), GATEWAY_KEYS_FILE: join(folder, "keys.json") }
    const { code, stdout } = await start(["keys", "create", "--name", "x"], environment).ended
    assert.strictEqual(code, 0)
    assert.isTrue(stdout.trimEnd().endsWith(notice))
    assert.notInclude(stdout, usageNotice)
  }, 60_000)

  it.each([
    [
      "there is none",
      () => join(folder, "none.txt"),
      /GATEWAY_NOTICE_FILE: .*none\.txt cannot be read: there is no such/
    ],
    ["it is empty", () => fileWith(" \n"), /is empty/],
    ["it is long", () => fileWith("x".repeat(10_001)), /more than 10000 characters/],
    ["it has control characters", () => fileWith("a\u001b[2Jb"), /plain text/],
    ["it hides its order", () => fileWith("a\u202eb"), /plain text/],
    ["it is no UTF-8", () => fileWith(Buffer.from([0x61, 0xff])), /plain text/]
  ] as const)("is refused where %s", async (_, file, why) => {
    const failure = await read(file()).then(
      () => "read",
      (error: Error) => error.message
    )
    assert.match(failure, why)
  })

  it("that is missing stops the start", async () => {
    const failure = await startGateway({ settings: { GATEWAY_NOTICE_FILE: join(folder, "none.txt") } }).then(
      (gateway) => gateway.stop().then(() => "started"),
      String
    )
    assert.match(failure, /GATEWAY_NOTICE_FILE/)
  })
})
