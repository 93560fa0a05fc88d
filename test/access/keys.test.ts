import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, FileSystem, Layer, Logger, Result } from "effect"
import { TestClock } from "effect/testing"
import { type Key, readKeys } from "../../src/access/KeyFile.ts"
import { Keys, permits } from "../../src/access/Keys.ts"
import { createKey, listKeys, revokeKey, rotateKey } from "../../src/access/keysCommand.ts"

/** A key file's path in a directory of its own. */
const keyFile = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  return `${yield* fs.makeTempDirectoryScoped()}/keys.json`
})

const secretIn = (text: string): string => /^ {2}(gmg_\S+)$/m.exec(text)?.[1] ?? ""

const only = Effect.fnUntraced(function* (file: string) {
  const keys = yield* readKeys(file)
  assert.strictEqual(keys.length, 1)
  return keys[0] as Key
})

const accepts = Effect.fnUntraced(function* (secret: string) {
  const keys = yield* Keys
  return Exit.isSuccess(yield* Effect.exit(keys.authenticate(secret)))
})

/** Lets polls run until `condition` holds; the file reads in them end in real time. */
const eventually = <E, R>(condition: Effect.Effect<boolean, E, R>) =>
  TestClock.adjust("1 second").pipe(
    Effect.andThen(TestClock.withLive(Effect.sleep("10 millis"))),
    Effect.andThen(condition),
    Effect.repeat({ until: (holds) => holds, times: 500 }),
    Effect.map((holds) => assert.isTrue(holds))
  )

const lines: Array<string> = []
const logs = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])

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

describe("Keys", () => {
  it.effect("one error for every wrong key, which names the header and not the key", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      yield* TestClock.setTime(Date.UTC(2026, 10, 21))
      const good = secretIn(yield* createKey(file, { name: "good" }))
      const expiring = secretIn(yield* createKey(file, { name: "expiring", expires: "2026-11-22" }))
      const revoked = secretIn(yield* createKey(file, { name: "revoked" }))
      const id = (yield* readKeys(file)).find(({ name }) => name === "revoked")?.id ?? ""
      yield* revokeKey(file, id)
      yield* Effect.gen(function* () {
        const keys = yield* Keys
        assert.strictEqual((yield* keys.authenticate(good)).name, "good")
        assert.isTrue(yield* accepts(expiring))
        yield* TestClock.setTime(Date.UTC(2026, 10, 22))
        const wrong = [
          "",
          "nobody",
          `${good}, ${good}`,
          `${good} `,
          "x".repeat(100_000),
          "clé\u0000",
          "\ud800",
          expiring,
          revoked
        ]
        for (const secret of wrong) {
          const error = yield* Effect.flip(keys.authenticate(secret))
          assert.deepStrictEqual(
            [error.reason, error.message],
            ["unauthenticated", "The API key is missing or invalid. Send your key in the header x-api-key."]
          )
        }
        assert.isFalse(yield* accepts("sandbox-key"))
      }).pipe(Effect.provide(Keys.layer({ file })))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.live("a revocation is seen within 5 seconds, and ends what waits for it", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      const secret = secretIn(yield* createKey(file, { name: "x" }))
      yield* Effect.gen(function* () {
        const keys = yield* Keys
        const key = yield* keys.authenticate(secret)
        const ended = yield* Effect.forkChild(keys.ended(key.id), { startImmediately: true })
        yield* Effect.sleep("1100 millis")
        assert.isUndefined(ended.pollUnsafe())
        yield* revokeKey(file, key.id)
        yield* Effect.timeout(Fiber.join(ended), "5 seconds")
        assert.isFalse(yield* accepts(secret))
      }).pipe(Effect.provide(Keys.layer({ file })))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("an expiry ends what waits for it", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      yield* TestClock.setTime(Date.UTC(2026, 10, 21))
      yield* createKey(file, { name: "x", expires: "2026-11-21T00:00:10Z" })
      const { id } = yield* only(file)
      yield* Effect.gen(function* () {
        const ended = yield* Effect.forkChild((yield* Keys).ended(id), { startImmediately: true })
        yield* eventually(Effect.sync(() => ended.pollUnsafe() !== undefined))
        assert.isAtLeast(yield* Clock.currentTimeMillis, Date.UTC(2026, 10, 21, 0, 0, 10))
      }).pipe(Effect.provide(Keys.layer({ file })))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a rotated key has two secrets until the grace is over", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      const old = secretIn(yield* createKey(file, { name: "x" }))
      yield* Effect.gen(function* () {
        const secret = secretIn(yield* rotateKey(file, (yield* only(file)).id, "1 hour"))
        yield* eventually(accepts(secret))
        assert.isTrue(yield* accepts(old))
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual([yield* accepts(old), yield* accepts(secret)], [false, true])
      }).pipe(Effect.provide(Keys.layer({ file })))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a missing file is no keys and a warning; a broken one leaves the old keys, with one log line", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      yield* Effect.gen(function* () {
        assert.isFalse(yield* accepts("gmg_x"))
        assert.isTrue(lines.some((line) => line.includes(file) && line.includes("keys create --name NAME")))
        const secret = secretIn(yield* createKey(file, { name: "x" }))
        yield* eventually(accepts(secret))
        const logged = (text: string) => lines.filter((line) => line.includes(`${file} ${text}`)).length
        yield* fs.writeFileString(file, "{")
        yield* eventually(Effect.sync(() => logged("is not a key file") > 0))
        assert.isTrue(yield* accepts(secret))
        yield* fs.remove(file)
        yield* eventually(Effect.sync(() => logged("is gone") > 0))
        assert.isTrue(yield* accepts(secret))
        assert.deepStrictEqual([logged("is not a key file"), logged("is gone")], [1, 1])
      }).pipe(Effect.provide(Keys.layer({ file }).pipe(Layer.provide(logs))), Effect.provide(logs))
      yield* fs.writeFileString(file, "{")
      const exit = yield* Effect.exit(Effect.provide(accepts(""), Keys.layer({ file })))
      assert.isTrue(Exit.isFailure(exit))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("the sandbox has one key", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual([yield* accepts("sandbox-key"), yield* accepts("")], [true, false])
    }).pipe(Effect.provide(Keys.sandbox))
  )
})

describe("permits", () => {
  const key = (limits: Partial<Key>) => ({ id: "k", name: "k", digest: "", ...limits }) as Key
  const verdict = (limits: Partial<Key>, base: string, level: "il5" | "itar") =>
    Result.match(permits(key(limits), { base, level }), { onSuccess: () => "yes", onFailure: (error) => error.message })

  it("no restriction permits everything", () => {
    assert.strictEqual(verdict({}, "gpt-5.1", "il5"), "yes")
  })
  it("names and prefixes are compared exactly, and a refusal names what is allowed", () => {
    const models = ["claude-*", "gpt-5.1"]
    assert.strictEqual(verdict({ models }, "claude-opus-5", "il5"), "yes")
    assert.strictEqual(verdict({ models }, "gpt-5.1", "il5"), "yes")
    assert.match(verdict({ models }, "gpt-5.1-mini", "il5"), /gpt-5\.1-mini.*claude-\*, gpt-5\.1/)
    assert.match(verdict({ models }, "Claude-opus-5", "il5"), /may not use/)
    assert.strictEqual(verdict({ models: ["*"] }, "gemini-3-flash", "il5"), "yes")
  })
  it("levels are compared exactly: itar is not il5", () => {
    assert.strictEqual(verdict({ levels: ["il5"] }, "gpt-5.1", "il5"), "yes")
    assert.match(verdict({ levels: ["il5"] }, "gpt-5.1", "itar"), /level itar.*il5/)
  })
})
