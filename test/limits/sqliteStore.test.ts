import { spawn } from "node:child_process"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, FileSystem, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Ledger } from "../../src/limits/Ledger.ts"
import { layerFile, layerMemory } from "../../src/limits/sqliteStore.ts"

const account = { name: "a", keep: Duration.days(1) }
const spender = new URL("spender.ts", import.meta.url).pathname
/** Keeps what it compiles for the next one. */
const installed = new URL("../../src/installed.js", import.meta.url).href

/** Runs a spender, kills it once it has printed `killAfter` lines, and returns how many it printed. */
const spend = (directory: string, times: number, killAfter = Number.POSITIVE_INFINITY) =>
  Effect.callback<number>((resume) => {
    const args = ["--import", installed, spender, directory, String(times)]
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
    let lines = 0
    child.stdout.on("data", (data) => {
      lines += String(data).split("\n").length - 1
      if (lines >= killAfter) child.kill("SIGKILL")
    })
    child.once("close", () => resume(Effect.succeed(lines)))
  })

const spent = Effect.flatMap(Ledger, (ledger) => Effect.map(ledger.spent([account.name]), ([spent = 0]) => spent))

describe("counts in a file", () => {
  it.live("a killed process loses nothing that it settled, and what it held comes back", () =>
    Effect.gen(function* () {
      const directory = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const printed = yield* spend(directory, 9000, 100)
      yield* Effect.gen(function* () {
        const used = yield* spent
        // It may have been killed between a settlement and its line.
        assert.isTrue(printed >= 100 && (used === printed || used === printed + 1), `${used} of ${printed}`)
        const rest = 10_000 - used
        const all = { id: "rest", demands: [{ account, amount: rest, least: rest, limit: 10_000 }], lease: "1 hour" }
        const held = yield* (yield* Ledger).hold({ ...all, lease: Duration.hours(1) })
        assert.deepStrictEqual(held, { granted: true, shares: [{ spent: used, held: 0, amount: rest }] })
      }).pipe(Effect.provide(layerFile(directory)))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.live("processes that start together share the counts", () =>
    Effect.gen(function* () {
      const directory = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const each = yield* Effect.all(
        [1, 2, 3].map(() => spend(directory, 200)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(each, [200, 200, 200])
      assert.strictEqual(yield* Effect.provide(spent, layerFile(directory)), 600)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a step that fails leaves everything as it was, and the next one works", () =>
    Effect.gen(function* () {
      const { hold, settle, spent } = yield* Ledger
      const [one, two] = [account, { ...account, name: "b" }]
      const demands = [one, two].map((account) => ({ account, limit: 10, amount: 2, least: 2 }))
      yield* hold({ id: "h", demands, lease: Duration.hours(1) })
      // No count is a half.
      yield* Effect.flip(
        settle("h", [
          { account: one, amount: 1 },
          { account: two, amount: 0.5 }
        ])
      )
      assert.deepStrictEqual(yield* spent([one.name, two.name]), [0, 0])
      yield* settle("h", [
        { account: one, amount: 1 },
        { account: two, amount: 1 }
      ])
      assert.deepStrictEqual(yield* spent([one.name, two.name]), [1, 1])
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("what counts no more is removed, at the start and every day", () =>
    Effect.gen(function* () {
      const directory = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const now = Date.parse("2026-11-27T12:00:00Z")
      const hours = (n: number) => now - n * 3_600_000
      const database = new DatabaseSync(join(directory, "quota.sqlite"))
      const names = () =>
        ["account", "draining"].flatMap((table) =>
          database
            .prepare(`SELECT name FROM ${table} ORDER BY name`)
            .all()
            .map(({ name }) => name)
        )
      const fresh = ["k:2026-10", "k:2026-11-01", "k:cost:2026-11", "k:last-use", "team/2020-01:2026-11"]
      const old = ["k:2026-09", "k:2026-10-17", "k:cost:2026-08", "k:cost:2026-01-02", "o:last-use"]
      yield* TestClock.setTime(now)
      yield* Effect.gen(function* () {
        yield* Effect.provide(spent, layerFile(directory))
        for (const name of [...fresh, ...old]) {
          const spent = name === "k:last-use" ? hours(399 * 24) : name === "o:last-use" ? hours(401 * 24) : 1
          database.prepare("INSERT INTO account VALUES (?, ?)").run(name, spent)
        }
        database.prepare("INSERT INTO draining VALUES ('k:rpm:1', 1, ?), ('k:rpm:2', 1, ?)").run(hours(2), now)
        yield* Layer.build(Layer.fresh(layerFile(directory)))
        yield* Effect.yieldNow
        assert.deepStrictEqual(names(), [...fresh, "k:rpm:2"])
        yield* TestClock.adjust("1 day")
        assert.deepStrictEqual(names(), fresh)
        yield* TestClock.adjust("365 days")
        assert.deepStrictEqual(names(), [])
      }).pipe(Effect.ensuring(Effect.sync(() => database.close())))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.live("a file that is no database is refused by name", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      yield* fs.writeFileString(`${directory}/quota.sqlite`, "x".repeat(5000))
      const error = yield* Effect.flip(Effect.provide(spent, layerFile(directory)))
      assert.match(error.message, /^GATEWAY_STATE_DIR: cannot open .*quota\.sqlite: /)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})
