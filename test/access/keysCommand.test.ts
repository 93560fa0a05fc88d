import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem } from "effect"
import { TestClock } from "effect/testing"
import { readKeys } from "../../src/access/KeyFile.ts"
import { createKey, listKeys, revokeKey } from "../../src/access/keysCommand.ts"
import { eventually, keyFile, only, secretIn } from "./support.ts"

describe("keys commands", () => {
  it.effect("create prints a secret once and stores its digest, mode 0600", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      const text = yield* createKey(file, {
        name: "team",
        models: "claude-*,gpt-5.1",
        levels: "il5,itar",
        rpm: 60,
        streams: 4,
        monthlyTokens: 1000,
        expires: "2027-01-31"
      })
      const secret = secretIn(text)
      assert.match(secret, /^gmg_[A-Za-z0-9_-]{43}$/)
      assert.include(text, "government information system")
      const stored = yield* fs.readFileString(file)
      assert.notInclude(stored, secret)
      assert.strictEqual((yield* fs.stat(file)).mode & 0o777, 0o600)
      const key = yield* only(file)
      assert.deepStrictEqual(
        [key.models, key.levels, key.requestsPerMinute, key.streams, key.monthlyTokens],
        [["claude-*", "gpt-5.1"], ["il5", "itar"], 60, 4, 1000]
      )
      const listed = yield* listKeys(file, (id) => Effect.succeed(id === key.id ? 250 : 0))
      assert.include(listed, key.id)
      assert.match(listed, /expires 2027-01-31 00:00 UTC/)
      assert.match(listed, / 1000 +250$/m)
      assert.notInclude(listed, secret)
      assert.notInclude(listed, key.digest)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("twenty creates at once keep twenty keys", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      const create = (n: number) => createKey(file, { name: `key ${n}` })
      yield* TestClock.withLive(
        Effect.forEach(
          Array.from({ length: 20 }, (_, n) => n),
          create,
          { concurrency: "unbounded" }
        )
      )
      const keys = yield* readKeys(file)
      assert.strictEqual(new Set(keys.map(({ name }) => name)).size, 20)
      const fs = yield* FileSystem.FileSystem
      assert.deepStrictEqual(yield* fs.readDirectory(file.replace("/keys.json", "")), ["keys.json"])
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a lock that was left behind is named, and the file stays as it is", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      yield* fs.writeFileString(`${file}.lock`, "")
      const create = yield* Effect.forkChild(Effect.flip(createKey(file, { name: "x" })), { startImmediately: true })
      yield* eventually(Effect.sync(() => create.pollUnsafe() !== undefined))
      assert.include((yield* Fiber.join(create)).message, `remove ${file}.lock`)
      assert.isFalse(yield* fs.exists(file))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("errors say what would work", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      const message = (options: Omit<Parameters<typeof createKey>[1], "name">) =>
        Effect.map(Effect.flip(createKey(file, { name: "x", ...options })), (error) => error.message)
      assert.include(yield* message({ levels: "il6" }), "il5")
      assert.include(yield* message({ models: "gpt-5.1:il5" }), "--levels")
      assert.include(yield* message({ models: "a*b" }), "claude-*")
      assert.include(yield* message({ models: "" }), "claude-*")
      assert.include(yield* message({ rpm: 0 }), "--rpm 60")
      assert.include(yield* message({ monthlyTokens: 1.5 }), "whole number")
      yield* TestClock.setTime(Date.UTC(2026, 10, 21))
      for (const expires of ["2027-02-31", "soon", "31.01.2027", "2026-11-20", "2026-11-21"]) {
        assert.match(yield* message({ expires }), /^--expires: .*(2027-01-31|passed)/)
      }
      assert.include((yield* Effect.flip(createKey(file, { name: " " }))).message, "--name")
      assert.include((yield* Effect.flip(revokeKey(file, "nope"))).message, "keys list")
      assert.include(yield* listKeys(file), "keys create --name NAME")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a misspelt restriction is refused", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      yield* createKey(file, { name: "x", levels: "il5" })
      yield* fs.writeFileString(file, (yield* fs.readFileString(file)).replace('"levels"', '"level"'))
      assert.include((yield* Effect.flip(readKeys(file))).message, "not a key file")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})
