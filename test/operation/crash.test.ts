/** An error that no handler took ends the process, and loses no record (docs/operation.md#running). */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { eventsIn } from "../support/http.ts"
import { childrenOf, type Serving, serve, until } from "./child.ts"
import { keysFileWith } from "./keysFile.ts"
import { openSurface } from "./surfaces.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-crash-"))
const { file, secrets } = keysFileWith(directory, { key: { monthlyTokens: 1_000_000 } })
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** A gateway with a defect that a signal sets off, outside of everything that it does. */
const defective = (name: string, defect: string, settings: Readonly<Record<string, string>> = {}) =>
  serve({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`process.on("SIGUSR2", () => { ${defect} })`)}`,
    GATEWAY_KEYS_FILE: file,
    GATEWAY_STATE_DIR: join(directory, name),
    ...settings
  })

/** A stream that has begun, and a whole reply that has not. */
const inFlight = async ({ url }: Serving) => {
  const stream = (await openSurface(url, secrets.key, "messages", "[sandbox: stall after=3]", { stream: true })).text()
  const whole = openSurface(url, secrets.key, "chat", "[sandbox: delay=60s]").catch(() => undefined)
  await new Promise((resolve) => setTimeout(resolve, 500))
  return { stream, whole }
}

/** What the store has charged, and what it still holds. */
const stored = (name: string) => {
  const database = new DatabaseSync(join(directory, name, "quota.sqlite"), { readOnly: true })
  const sum = (query: string) => Number(database.prepare(query).get()?.tokens ?? 0)
  const charged = sum("SELECT sum(spent) AS tokens FROM account WHERE name LIKE 'key:____-__'")
  const held = sum("SELECT sum(amount) AS tokens FROM hold")
  database.close()
  return { charged, held }
}

/** Without the lines of a log in JSON. */
const recordsOf = (gateway: Serving) => gateway.records().filter(({ outcome }) => outcome !== undefined)

const recorded = (name: string, gateway: Serving, count: number) => {
  const records = recordsOf(gateway)
  assert.deepEqual(
    records.map(({ outcome }) => outcome),
    Array.from({ length: count }, () => "drained")
  )
  const charges = records.map(({ quota }) => Number(Object(quota).charged))
  for (const charge of charges) assert.isAbove(charge, 0)
  assert.deepEqual(stored(name), { charged: charges.reduce((sum, charge) => sum + charge), held: 0 })
}

describe("an error that no handler took", () => {
  it.each([
    ["rejected", 'void Promise.reject(new Error("a defect"))', { GATEWAY_LOG_FORMAT: "json" }],
    ["thrown again and again", 'setInterval(() => { throw new Error("a defect") }, 5)', {}]
  ] as const)(
    "%s: what is in flight ends, is recorded and charged, and the exit code is 1",
    async (name, defect, format) => {
      const gateway = await defective(name, defect, { ...format, GATEWAY_DRAIN_DELAY: "1 minute" })
      try {
        const { stream, whole } = await inFlight(gateway)
        process.kill(gateway.pid, "SIGUSR2")
        const { code, stderr } = await gateway.ended
        assert.strictEqual(code, 1)
        assert.match(stderr, /"level":"fatal".*a defect/)
        if ("GATEWAY_LOG_FORMAT" in format) for (const line of stderr.match(/.+/g) ?? []) JSON.parse(line)
        assert.include(eventsIn(await stream).at(-1)?.json.error.message, "shutting down")
        assert.strictEqual((await whole)?.status, 503)
        recorded(name, gateway, 2)
      } finally {
        await gateway.stop()
      }
    },
    60_000
  )

  it("in a worker: another one takes its place; in the process of the workers: they drain, and the exit code is 1", async () => {
    const gateway = await defective("workers", 'throw new Error("a defect")', {
      GATEWAY_WORKERS: "2",
      GATEWAY_DRAIN_TIMEOUT: "1 second"
    })
    try {
      // One for each worker.
      await inFlight(gateway)
      const [first = 0, second] = childrenOf(gateway.pid)
      process.kill(first, "SIGUSR2")
      await until(() => recordsOf(gateway).length === 1, "the record", 30_000)
      const isNew = (pid: number) => pid !== first && pid !== second
      await until(() => childrenOf(gateway.pid).some(isNew), "a new worker", 30_000)
      const { stream } = await inFlight(gateway)
      process.kill(gateway.pid, "SIGUSR2")
      assert.strictEqual((await gateway.ended).code, 1)
      assert.include(eventsIn(await stream).at(-1)?.json.error.message, "shutting down")
      recorded("workers", gateway, 4)
    } finally {
      await gateway.stop()
    }
  }, 60_000)
})
