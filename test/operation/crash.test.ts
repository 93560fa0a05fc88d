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

const recorded = (name: string, gateway: Serving, outcome: string) => {
  const records = gateway.records()
  assert.deepEqual(
    records.map((record) => record.outcome),
    [outcome, outcome]
  )
  const charges = records.map(({ quota }) => Number(Object(quota).charged))
  for (const charge of charges) assert.isAbove(charge, 0)
  assert.deepEqual(stored(name), { charged: (charges[0] ?? 0) + (charges[1] ?? 0), held: 0 })
}

describe("an error that no handler took", () => {
  it.each([
    ["rejected", 'void Promise.reject(new Error("a defect"))'],
    ["thrown again and again", 'setInterval(() => { throw new Error("a defect") }, 5)']
  ])(
    "%s: what is in flight ends, is recorded and charged, and the exit code is 1",
    async (name, defect) => {
      const gateway = await defective(name, defect, { GATEWAY_DRAIN_DELAY: "1 minute" })
      try {
        const { stream, whole } = await inFlight(gateway)
        process.kill(gateway.pid, "SIGUSR2")
        const { code, stderr } = await gateway.ended
        assert.strictEqual(code, 1)
        assert.match(stderr, /"level":"fatal".*a defect/)
        assert.include(eventsIn(await stream).at(-1)?.json.error.message, "shutting down")
        assert.strictEqual((await whole)?.status, 503)
        recorded(name, gateway, "drained")
      } finally {
        await gateway.stop()
      }
    },
    60_000
  )

  it("in the process of the workers: they drain, and the exit code is 1", async () => {
    const gateway = await defective("workers", 'throw new Error("a defect")', {
      GATEWAY_WORKERS: "2",
      GATEWAY_DRAIN_TIMEOUT: "1 second"
    })
    try {
      const { stream } = await inFlight(gateway)
      process.kill(gateway.pid, "SIGUSR2")
      assert.strictEqual((await gateway.ended).code, 1)
      assert.include(eventsIn(await stream).at(-1)?.json.error.message, "shutting down")
      recorded("workers", gateway, "drained")
    } finally {
      await gateway.stop()
    }
  }, 60_000)

  it("in a worker: another one takes its place", async () => {
    const gateway = await defective("worker", 'throw new Error("a defect")', { GATEWAY_WORKERS: "2" })
    try {
      await inFlight(gateway)
      const before = childrenOf(gateway.pid)
      for (const pid of before) process.kill(pid, "SIGUSR2")
      await until(() => gateway.records().length === 2, "the records", 30_000)
      await until(
        () => childrenOf(gateway.pid).length === 2 && !childrenOf(gateway.pid).some((pid) => before.includes(pid)),
        "new workers",
        30_000
      )
      recorded("worker", gateway, "drained")
    } finally {
      await gateway.stop()
    }
  }, 60_000)
})
