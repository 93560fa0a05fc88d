/** A disk that refuses writes is called so: in the log, in a metric, and by `doctor`. */
import fs from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Logger, Metric, Option, PlatformError, References } from "effect"
import { vi } from "vitest"
import { writeAtomic } from "../../src/limits/files.ts"
import { Ledger } from "../../src/limits/Ledger.ts"
import { RateLimit } from "../../src/limits/RateLimit.ts"
import { layerFile } from "../../src/limits/sqliteStore.ts"
import { UsageLog } from "../../src/limits/UsageLog.ts"
import { logFound, stateFound } from "../../src/operators/doctor/files.ts"
import { record } from "../usage/records.ts"
import { callerWith } from "./support.ts"

const failures = (use: string, reason: string) =>
  Effect.map(Metric.snapshot, (metrics) =>
    metrics
      .filter(({ attributes, id }) => {
        const labels = attributes ?? {}
        return id === "gateway_disk_failures_total" && labels.use === use && labels.reason === reason
      })
      .reduce((sum, { state }) => sum + Number("count" in state ? state.count : 0), 0)
  )

/** Log lines with their annotations. */
const listen = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ fiber, message }) => {
    lines.push(`${String(message)} ${JSON.stringify(fiber.getRef(References.CurrentLogAnnotations))}`)
  })
  return { lines, logged: Effect.provide(Logger.layer([logger])) }
}

const until = (condition: () => boolean) =>
  Effect.sleep("10 millis").pipe(Effect.andThen(Effect.sync(condition)), Effect.repeat({ until: (holds) => holds }))

const codes = [
  ["ENOSPC", "full", "the disk is full"],
  ["EDQUOT", "quota", "the disk quota is used up"],
  ["EROFS", "read-only", "the file system is read-only"],
  ["EIO", "io", "the disk has failed"]
] as const

const failing = (code: string) => Object.assign(new Error(`${code}: what the system says`), { code })

describe.each(codes)("%s", (code, reason, words) => {
  afterEach(() => {
    vi.restoreAllMocks()
    syncBuiltinESMExports()
  })

  const refused = Effect.fail(
    PlatformError.systemError({ _tag: "Unknown", module: "FileSystem", method: "writeFile", cause: failing(code) })
  )
  /** It is full once the gateway runs: nothing is written at the start. */
  const disk = Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (files) => {
      const opened = Effect.map(files.open("/dev/null"), (file) => Object.assign(file, { write: () => refused }))
      return FileSystem.makeNoop({
        open: (_, options) => (options?.flag === "a" ? opened : refused),
        remove: () => Effect.void
      })
    })
  ).pipe(Layer.provide(NodeFileSystem.layer))

  it.live("is said of the usage log, and counted", () => {
    const { lines, logged } = listen()
    return Effect.gen(function* () {
      const before = yield* failures("usage-log", reason)
      yield* Effect.gen(function* () {
        const log = yield* UsageLog
        log.record(record(1))
        yield* until(() => lines.length > 0)
      }).pipe(Effect.provide(UsageLog.layer("usage.jsonl", { flush: 0 })))
      assert.include(lines[0], `The usage log cannot be written (${words}: `)
      assert.isAbove(yield* failures("usage-log", reason), before)
    }).pipe(Effect.provide(disk), logged)
  })

  it.effect("is said of the key file", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(writeAtomic("keys.json", ""))
      assert.include(message, `cannot write keys.json: ${words}: `)
    }).pipe(Effect.provide(disk))
  )

  it.effect("is what doctor finds", () =>
    Effect.gen(function* () {
      const settings = { redisUrl: Option.none<never>(), stateDir: tmpdir() }
      const checks = [stateFound(settings), logFound(join(tmpdir(), "u.jsonl"), "GATEWAY_USAGE_LOG")]
      vi.spyOn(fs, "writeFile").mockRejectedValue(failing(code))
      syncBuiltinESMExports()
      for (const check of checks) {
        const found = JSON.stringify(yield* check)
        assert.include(found, `${tmpdir()} cannot be written (${words}: ${code}: what the system says)`)
        assert.include(found, "Make room there")
      }
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )
})

it.effect("a file whose group this user may not give says who may", () =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const folder = yield* files.makeTempDirectoryScoped()
    const path = join(folder, "keys.json")
    yield* files.writeFileString(path, "{}")
    const other = (info: FileSystem.File.Info) => ({ ...info, gid: Option.some(65_532) })
    const cause = Object.assign(new Error("EPERM: operation not permitted, chown"), { code: "EPERM" })
    const refused = PlatformError.systemError({
      _tag: "PermissionDenied",
      module: "FileSystem",
      method: "chown",
      cause
    })
    const foreign = FileSystem.make({
      ...files,
      stat: (at) => Effect.map(files.stat(at), (info) => (at === path ? other(info) : info)),
      chown: () => Effect.fail(refused)
    })
    const writing = Effect.provideService(writeAtomic(path, "[]"), FileSystem.FileSystem, foreign)
    const { message } = yield* Effect.flip(writing)
    assert.include(message, "with its group 65532: run this as a member of that group, or as root (EPERM: operation")
    assert.deepStrictEqual(yield* files.readDirectory(folder), ["keys.json"])
  }).pipe(Effect.provide(NodeFileSystem.layer))
)

it.effect("a file that cannot be replaced leaves nothing beside it", () =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const folder = yield* files.makeTempDirectoryScoped()
    yield* files.makeDirectory(join(folder, "keys.json/in-the-way"), { recursive: true })
    const { message } = yield* Effect.flip(writeAtomic(join(folder, "keys.json"), "{}"))
    assert.match(message, /^cannot write .*keys\.json: /)
    assert.deepStrictEqual(yield* files.readDirectory(folder), ["keys.json"])
  }).pipe(Effect.provide(NodeFileSystem.layer))
)

describe("a device that is full", () => {
  it.live("is called so by the usage log and by doctor", () => {
    const { lines, logged } = listen()
    return Effect.gen(function* () {
      const before = yield* failures("usage-log", "full")
      yield* Effect.gen(function* () {
        const log = yield* UsageLog
        log.record(record(1))
        yield* until(() => lines.length > 0)
      }).pipe(Effect.provide(UsageLog.layer("/dev/full", { flush: 0 })))
      assert.include(lines[0], "the disk is full")
      assert.isAbove(yield* failures("usage-log", "full"), before)
      assert.include(
        JSON.stringify(yield* Effect.scoped(logFound("/dev/full", "GATEWAY_USAGE_LOG"))),
        "/dev/full cannot be written (the disk is full"
      )
    }).pipe(Effect.provide(NodeFileSystem.layer), logged)
  })
})

describe("SQLite", () => {
  afterEach(() => void vi.restoreAllMocks())

  it.live.each([
    [13, "full", "the disk is full"],
    [10, "io", "the disk has failed"],
    [778, "io", "the disk has failed"],
    [8, "read-only", "the file or its file system is read-only"]
  ] as const)("%i: says so, counts it, and goes on once it can write again", ([errcode, reason, words]) => {
    const { lines, logged } = listen()
    return Effect.gen(function* () {
      const fileSystem = yield* FileSystem.FileSystem
      const store = layerFile(yield* fileSystem.makeTempDirectoryScoped())
      yield* Effect.gen(function* () {
        const { take } = yield* RateLimit
        const caller = callerWith({ requestsPerMinute: 10 })
        yield* take(caller)
        const before = yield* failures("state", reason)
        const { exec } = DatabaseSync.prototype
        let full = true
        vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function (this: DatabaseSync, sql) {
          if (sql !== "COMMIT" || this.location() === null || !full) return exec.call(this, sql)
          // As SQLite does of itself where the disk is full.
          exec.call(this, "ROLLBACK")
          throw Object.assign(new Error("what SQLite says"), { errcode })
        })
        yield* take(caller)
        assert.strictEqual((yield* failures("state", reason)) - before, 1)
        assert.include(lines.join("\n"), "The store of limits and quotas is lost")
        assert.include(lines.join("\n"), `"error":"${words}: what SQLite says"`)
        full = false
        yield* take(caller)
        assert.include(lines.at(-1), "The store is back.")
        assert.deepStrictEqual(yield* (yield* Ledger).spent([]), [])
      }).pipe(Effect.provide(RateLimit.layer("1 minute")), Effect.provide(store))
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer), logged)
  })
})
