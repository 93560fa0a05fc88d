/** A request that arrives at a month's end counts in that month, in its record and in every limit, however late its body ends. */
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { vi } from "vitest"
import { type Gateway, recordOf, startGateway } from "../support/gateway.ts"
import { keysFileWith } from "./keysFile.ts"
import { requestOf } from "./surfaces.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-month-"))
const stateDir = join(directory, "state")
const { file, secrets } = keysFileWith(directory, { limited: { monthlyTokens: 1_000_000, dailyTokens: 1_000_000 } })
const midnight = Date.UTC(2026, 11, 1)
const machine = Date.now
let ahead = midnight - 60_000 - machine()
let gateway: Gateway

beforeAll(async () => {
  vi.spyOn(Date, "now").mockImplementation(() => machine() + ahead)
  gateway = await startGateway({ settings: { GATEWAY_KEYS_FILE: file, GATEWAY_STATE_DIR: stateDir } })
})
afterAll(async () => {
  await gateway.stop()
  vi.restoreAllMocks()
  rmSync(directory, { recursive: true, force: true })
})

it("belongs to the month and the day in which it arrived", async () => {
  const [path, body] = requestOf("chat", "hello")
  const sent = request(`${gateway.url}${path}`, {
    method: "POST",
    headers: { "x-api-key": secrets.limited, "content-type": "application/json" }
  })
  sent.write(JSON.stringify(body).slice(0, 10))
  await sleep(200)
  ahead = midnight + 60_000 - machine()
  sent.end(JSON.stringify(body).slice(10))
  const [response] = await once(sent, "response")
  response.resume()
  const { time, tokens } = (await recordOf(gateway, response.headers["x-request-id"])) as {
    readonly time: string
    readonly tokens: { readonly input: number; readonly output: number }
  }
  assert.match(time, /^2026-11-30T23:59/)
  const database = new DatabaseSync(join(stateDir, "quota.sqlite"), { readOnly: true })
  const accounts = database
    .prepare("SELECT name, spent FROM account WHERE name LIKE 'limited:____-%' ORDER BY name")
    .all()
  database.close()
  const spent = tokens.input + tokens.output
  assert.deepStrictEqual(
    accounts.map(({ name, spent }) => [name, spent]),
    [
      ["limited:2026-11", spent],
      ["limited:2026-11-30", spent]
    ]
  )
})
