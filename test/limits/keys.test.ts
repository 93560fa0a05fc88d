import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Clock, DateTime, Effect, Exit, Fiber, FileSystem, Layer, Logger, Metric, Result } from "effect"
import type { PlatformError } from "effect/PlatformError"
import { TestClock } from "effect/testing"
import type { CallerIdentity } from "../../src/contract/Security.ts"
import { parseBook, readBook } from "../../src/limits/KeyFile.ts"
import { digestOf, Keys, permits } from "../../src/limits/Keys.ts"
import { RefusedKeys } from "../../src/limits/replicas.ts"
import { createKey, revokeKey, rotateKey } from "../../src/operators/keys/keysCommand.ts"
import { createTeam } from "../../src/operators/keys/teamsCommand.ts"
import { called } from "../support/called.ts"
import { callerWith, eventually, keyFile, only, secretIn } from "./support.ts"

const authenticate = Effect.fnUntraced(function* (secret: string) {
  const keys = yield* Keys
  return keys.authenticate(secret, yield* Clock.currentTimeMillis)
})
const accepts = (secret: string) => Effect.map(authenticate(secret), Result.isSuccess)

const now = "2026-11-21T00:00:00.000Z"

const lines: Array<string> = []
const logs = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])

describe("Keys", () => {
  it.effect("one error for every wrong key, which names the header and not the key", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      // The file is looked at every few seconds until then.
      yield* TestClock.setTime(Date.UTC(2026, 10, 21, 23, 59))
      const good = secretIn(yield* createKey(file, { name: "good" }))
      const expiring = secretIn(yield* createKey(file, { name: "expiring", expires: "2026-11-22" }))
      const revoked = secretIn(yield* createKey(file, { name: "revoked" }))
      const id = (yield* readBook(file)).keys.find(({ name }) => name === "revoked")?.id ?? ""
      yield* revokeKey(file, id)
      yield* Effect.gen(function* () {
        assert.strictEqual(Result.getOrThrow(yield* authenticate(good)).name, "good")
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
          const error = Result.getOrThrow(Result.flip(yield* authenticate(secret)))
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
        const key = Result.getOrThrow(yield* authenticate(secret))
        const ended = yield* Effect.forkChild(
          called<void>((end) => keys.onEnd(keys.credentialOf(key), end)),
          { startImmediately: true }
        )
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
      const { digest } = yield* only(file)
      yield* Effect.gen(function* () {
        const keys = yield* Keys
        const ended = yield* Effect.forkChild(
          called<void>((end) => keys.onEnd(digest, end)),
          { startImmediately: true }
        )
        yield* eventually(Effect.sync(() => ended.pollUnsafe() !== undefined))
        assert.isAtLeast(yield* Clock.currentTimeMillis, Date.UTC(2026, 10, 21, 0, 0, 10))
      }).pipe(Effect.provide(Keys.layer({ file })))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a key, a secret or a caller that the store refuses does not work, whatever the file says", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      const secrets = yield* Effect.forEach(["ended", "revoked", "good"], (name) =>
        Effect.map(createKey(file, { name }), secretIn)
      )
      const id = (yield* readBook(file)).keys.find(({ name }) => name === "revoked")?.id ?? ""
      const withoutKey = `jwt_${"0".repeat(24)}`
      const list = Effect.succeed(new Set([digestOf(secrets[0] ?? ""), id, withoutKey]))
      const store = Layer.succeed(RefusedKeys, { list, add: () => Effect.void, remove: () => Effect.void })
      yield* Effect.gen(function* () {
        const whyOf = (secret: string) =>
          Effect.map(authenticate(secret), (result) =>
            Result.match(result, { onSuccess: () => "works", onFailure: ({ refused }) => refused?.why })
          )
        yield* eventually(Effect.map(whyOf(secrets[0] ?? ""), (why) => why !== "works"))
        assert.deepStrictEqual(yield* Effect.forEach(secrets, whyOf), ["rotated", "revoked", "works"])
        assert.strictEqual((yield* Keys).refusalOf(withoutKey), "revoked")
      }).pipe(Effect.provide(Keys.layer({ file }).pipe(Layer.provide(store))))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a rotated key has two secrets until the grace is over", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      const old = secretIn(yield* createKey(file, { name: "x" }))
      yield* Effect.gen(function* () {
        const secret = secretIn((yield* rotateKey(file, (yield* only(file)).id, "1 hour")).text)
        yield* eventually(accepts(secret))
        assert.isTrue(yield* accepts(old))
        const keys = yield* Keys
        const ended = yield* Effect.forkChild(
          called<void>((end) => keys.onEnd(digestOf(old), end)),
          { startImmediately: true }
        )
        const kept = yield* Effect.forkChild(
          called<void>((end) => keys.onEnd(digestOf(secret), end)),
          { startImmediately: true }
        )
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual([yield* accepts(old), yield* accepts(secret)], [false, true])
        yield* eventually(Effect.sync(() => ended.pollUnsafe() !== undefined))
        assert.isUndefined(kept.pollUnsafe())
      }).pipe(Effect.provide(Keys.layer({ file })))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect.each([
    ["id", { id: "one" }, "two keys have the same id"],
    ["secret", { digest: "a".repeat(64) }, "two keys have the same secret: one and two"],
    [
      "secret, after a rotation",
      { previous: { digest: "a".repeat(64), until: now } },
      "two keys have the same secret: one and two"
    ]
  ] as const)("two keys with the same %s are refused", ([, same, message]) =>
    Effect.gen(function* () {
      const key = { id: "one", name: "x", digest: "a".repeat(64), created: now, acknowledged: now }
      const keys = [key, { ...key, id: "two", digest: "b".repeat(64), ...same }]
      const error = yield* Effect.flip(parseBook("keys.json", JSON.stringify({ version: 1, keys })))
      assert.include(error.message, message)
    })
  )

  it.effect.each(["2027-02-31", "1/31/2027", "2027", "1", "2027-01-31T25:00", "soon"])(
    "the time %s is refused",
    (expires) =>
      Effect.gen(function* () {
        const key = { id: "one", name: "x", digest: "a".repeat(64), created: now, acknowledged: now, expires }
        const error = yield* Effect.flip(parseBook("keys.json", JSON.stringify({ version: 1, keys: [key] })))
        assert.match(error.message, /\bexpires\b/)
      })
  )

  it.effect("times are UTC where they have no zone", () =>
    Effect.gen(function* () {
      const key = { id: "one", name: "x", digest: "a".repeat(64), created: now, acknowledged: now }
      for (const expires of [
        "2027-01-31",
        "2027-01-31T00:00",
        "2027-01-31T00:00:00.000Z",
        "2027-01-31T02:00:00+02:00"
      ]) {
        const book = yield* parseBook("keys.json", JSON.stringify({ version: 1, keys: [{ ...key, expires }] }))
        const [read] = book.keys
        assert.strictEqual(read?.expires && DateTime.formatIso(read.expires), "2027-01-31T00:00:00.000Z")
      }
    })
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

  it.effect("the keys of a file that is gone or broken end after the grace, and come back with it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      const secret = secretIn(yield* createKey(file, { name: "x" }))
      const refused = `jwt_${"0".repeat(24)}`
      yield* revokeKey(file, refused)
      yield* createTeam(file, "blue", {})
      const text = yield* fs.readFileString(file)
      const up = Effect.map(Metric.snapshot, (metrics) =>
        metrics.flatMap((metric) => (metric.id === "gateway_keys_file_up" ? [Object(metric.state).value] : []))
      )
      const said = (words: string) => lines.filter((line) => line.includes(file) && line.includes(words)).length
      const ways: ReadonlyArray<Effect.Effect<void, PlatformError>> = [
        fs.remove(file),
        fs.writeFileString(file, "{"),
        fs.chmod(file, 0o666)
      ]
      yield* Effect.gen(function* () {
        for (const [at, spoil] of ways.entries()) {
          assert.deepStrictEqual(yield* up, [1])
          const { digest } = yield* only(file)
          const keys = yield* Keys
          const ended = yield* Effect.forkChild(called<void>((end) => keys.onEnd(digest, end)))
          yield* spoil
          yield* eventually(Effect.map(up, ([value]) => value === 0))
          assert.isTrue(yield* accepts(secret))
          yield* TestClock.adjust("9 minutes")
          assert.isTrue(yield* accepts(secret))
          assert.strictEqual(said("API keys have ended"), at)
          yield* TestClock.adjust("1 minute")
          yield* eventually(Effect.map(accepts(secret), (accepted) => !accepted))
          yield* Fiber.join(ended)
          // Who was refused before does not get in by a file that is gone, and others keep their teams.
          assert.strictEqual(keys.refusalOf(refused), "revoked")
          assert.deepStrictEqual(
            keys.inForce().teams.map(({ name }) => name),
            ["blue"]
          )
          // The same text: nothing has changed since it was read.
          yield* fs.writeFileString(file, text)
          yield* fs.chmod(file, 0o600)
          yield* eventually(accepts(secret))
          assert.strictEqual(said("work again"), at + 1)
        }
      }).pipe(Effect.provide(Keys.layer({ file }).pipe(Layer.provide(logs))), Effect.provide(logs))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect.each([0o620, 0o602, 0o666])("a file of mode %o is refused, by commands too", (mode) =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      yield* createKey(file, { name: "x" })
      yield* fs.chmod(file, mode)
      const start = Effect.provide(accepts(""), Keys.layer({ file }))
      for (const use of [Effect.asVoid(start), Effect.asVoid(createKey(file, { name: "y" }))]) {
        const error = yield* Effect.flip(use)
        assert.include(error.message, `${file} may be written by others than its owner (mode 0${mode.toString(8)})`)
        assert.include(error.message, `chmod go-w ${file}`)
      }
      yield* fs.chmod(file, 0o644)
      yield* Effect.provide(accepts(""), Keys.layer({ file }))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("the sandbox's key works beside those of the file, also of one that comes later", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      yield* Effect.gen(function* () {
        assert.deepStrictEqual([yield* accepts("sandbox-key"), yield* accepts("")], [true, false])
        const secret = secretIn(yield* createKey(file, { name: "own" }))
        yield* TestClock.adjust("1 second")
        yield* eventually(accepts(secret))
        assert.isTrue(yield* accepts("sandbox-key"))
      }).pipe(Effect.provide(Keys.layer({ file, sandbox: true })))
      yield* Effect.map(accepts("sandbox-key"), assert.isFalse).pipe(Effect.provide(Keys.layer({ file })))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})

describe("permits", () => {
  const verdict = (limits: Partial<CallerIdentity>, base: string, level: "il5" | "itar") =>
    Result.match(permits(callerWith(limits), { model: { id: base }, level }), {
      onSuccess: () => "yes",
      onFailure: (error) => error.message
    })

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
  it("speaks of a key only where the caller has one", () => {
    assert.match(verdict({ levels: ["il5"] }, "gpt-5.1", "itar"), /^This API key may not use/)
    for (const kind of ["jwt", "crt"]) {
      const id = `${kind}_${"0".repeat(24)}`
      assert.match(verdict({ id, levels: ["il5"] }, "gpt-5.1", "itar"), /^This caller may not use/)
    }
  })
})
