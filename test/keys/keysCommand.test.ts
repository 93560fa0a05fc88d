import { writeFileSync } from "node:fs"
import { dirname } from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Clock, DateTime, Duration, Effect, Exit, Fiber, FileSystem, Layer, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import { readBook } from "../../src/limits/KeyFile.ts"
import { Keys } from "../../src/limits/Keys.ts"
import { LedgerError } from "../../src/limits/Ledger.ts"
import { parseOverlap } from "../../src/operators/keys/keyOptions.ts"
import { createKey, disableKey, enableKey, revokeKey, rotateKey, setKey } from "../../src/operators/keys/keysCommand.ts"
import { listKeys, listTeams } from "../../src/operators/keys/listCommands.ts"
import { createTeam, removeTeam, setTeam } from "../../src/operators/keys/teamsCommand.ts"
import { eventually, keyFile, only, secretIn } from "../limits/support.ts"
import { superlinear, type Work } from "../support/growth.ts"

/** A store in which every account has as much as its name is long. */
const spent = (names: ReadonlyArray<string>) => Effect.succeed(names.map((name) => name.length))
const unread = () => Effect.fail(new LedgerError({ message: "set GATEWAY_REDIS_URL" }))
const models = ["claude-sonnet-4-5", "claude-opus-4-5", "gpt-5.1", "gemini-3-pro"]

describe("keys commands", () => {
  it.effect("leave a file to those who may read it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      yield* createKey(file, { name: "team" })
      // As root this is the group of a service; others keep their own.
      const group = process.getuid?.() === 0 ? 65_532 : (process.getgid?.() ?? 0)
      yield* fs.chown(file, process.getuid?.() ?? 0, group)
      yield* fs.chmod(file, 0o640)
      yield* createKey(file, { name: "second" })
      const { gid, mode } = yield* fs.stat(file)
      assert.strictEqual(mode & 0o777, 0o640)
      assert.strictEqual(Option.getOrUndefined(gid), group)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("change the file that a link leads to, one command at a time, and leave the link", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      const link = yield* keyFile
      yield* fs.symlink(file, link)
      // It leads to what is not there yet.
      yield* createKey(link, { name: "first" })
      const create = (path: string) => createKey(path, { name: "team" })
      yield* Effect.all([link, file, link, file].map(create), { concurrency: "unbounded" })
      assert.strictEqual((yield* readBook(file)).keys.length, 5)
      assert.strictEqual(yield* fs.readLink(link), file)
    }).pipe(TestClock.withLive, Effect.provide(NodeFileSystem.layer))
  )

  it.effect("say which folder is missing", () =>
    Effect.gen(function* () {
      const file = `${yield* keyFile}.none/keys.json`
      const { message } = yield* Effect.flip(createKey(file, { name: "team" }))
      assert.strictEqual(
        message,
        `GATEWAY_KEYS_FILE: cannot write ${file}: the folder ${dirname(file)} does not exist. Make it first.`
      )
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("create prints a secret once and stores its digest, mode 0600", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      const text = yield* createKey(file, {
        name: "team",
        models: "claude-*,gpt-5.1",
        levels: "il5,itar",
        requestsPerMinute: 60,
        streams: 4,
        monthlyTokens: 1000,
        dailyTokens: 100,
        expires: "2027-01-31",
        owner: "A. Miller",
        tags: ["project=atlas", "cost-center=a=b"]
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
      assert.deepStrictEqual(key.tags, { project: "atlas", "cost-center": "a=b" })
      const listed = yield* listKeys(file, { json: false, spent })
      assert.include(listed, key.id)
      assert.match(listed, /expires 2027-01-31 00:00 UTC +A. Miller /)
      assert.match(listed, / +RPM +STREAMS +DAILY-TOKENS +MONTHLY-TOKENS +USED TODAY +USED +COST +LAST USE$/m)
      assert.match(listed, / 60 +4 +100 +1000 +27 +24 +0.00 +1970-01-01 00:00 UTC$/m)
      const { keys, unavailable } = JSON.parse(yield* listKeys(file, { json: true, spent }))
      assert.deepInclude(keys[0], {
        name: "team",
        owner: "A. Miller",
        // Today's cost is not counted, because it has no limit.
        use: { monthlyTokens: 24, dailyTokens: 27, monthlyCost: 29, lastUse: "1970-01-01T00:00:00.025Z" }
      })
      assert.deepStrictEqual([keys.length, unavailable, keys[0].digest], [1, undefined, undefined])
      const blind = yield* listKeys(file, { json: false, spent: unread })
      // Today's cost has no limit, so it has no column, as where it is known.
      assert.match(blind, / 1000 +\? +\? +\? +\?$/m)
      assert.match(blind, / +USED TODAY +USED +COST +LAST USE$/m)
      assert.include(blind, "not shown: set GATEWAY_REDIS_URL")
      const blindJson = JSON.parse(yield* listKeys(file, { json: true, spent: unread }))
      assert.deepStrictEqual([blindJson.keys[0].use, blindJson.unavailable], [null, "set GATEWAY_REDIS_URL"])
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
      const { keys } = yield* readBook(file)
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
        Effect.map(Effect.flip(createKey(file, { name: "x", ...options }, { models })), (error) => error.message)
      assert.include(yield* message({ levels: "il6" }), "il5")
      assert.include(yield* message({ models: "gpt-5.1:il5" }), "--levels")
      assert.include(yield* message({ models: "a*b" }), "claude-*")
      assert.include(yield* message({ models: "" }), "claude-*")
      assert.include(yield* message({ models: "gpt-5.1,claud-*" }), "Is claude* meant?")
      assert.include(yield* message({ models: "gpt-51" }), "Is gpt-5.1 meant?")
      assert.include(yield* message({ models: "zzz*" }), "Its models: ")
      assert.include(yield* message({ models: "mistral-large" }), "gemini-3-pro")
      assert.include(yield* message({ team: "blue" }), "teams create")
      assert.include(yield* message({ tags: ["project"] }), "name=value")
      assert.include(yield* message({ tags: ["a=1", "a=2"] }), "twice")
      assert.match(yield* message({ owner: "\u001b[2J" }), /^--owner: .* printable .*; not "\\u001b\[2J"$/)
      assert.match(yield* message({ requestsPerMinute: 0 }), /--rpm 60; not "0"$/)
      assert.include(yield* message({ monthlyTokens: 1.5 }), "whole number")
      assert.match(yield* message({ dailyCost: 2_000_000_000 }), /at most 1000000000; not "2000000000"$/)
      yield* TestClock.setTime(Date.UTC(2026, 10, 21))
      for (const expires of [
        "2027-02-31",
        "2027-02-31T00:00:00Z",
        "soon",
        "0d",
        "31.01.2027",
        "2026-11-20",
        "2026-11-21"
      ]) {
        assert.match(yield* message({ expires }), /^--expires: .*(2027-01-31.*; not "|passed)/)
      }
      assert.include((yield* Effect.flip(createKey(file, { name: " " }))).message, "--name")
      assert.include((yield* Effect.flip(revokeKey(file, "nope"))).message, "keys list")
      assert.include(yield* listKeys(file, { json: false, spent }), "keys create --name NAME")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a key ends on a date, at a time, or after days", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      yield* TestClock.setTime(Date.UTC(2026, 10, 21, 12))
      for (const expires of ["2027-01-31", "2027-01-31T10:00:00.123Z", "2027-01-31T10:00:00+02:00", "90d"]) {
        yield* createKey(file, { name: expires, expires })
      }
      const { keys } = JSON.parse(yield* listKeys(file, { json: true, spent }))
      assert.deepStrictEqual(
        keys.map(({ expires }: { readonly expires: string }) => expires),
        ["2027-01-31T00:00:00.000Z", "2027-01-31T10:00:00.123Z", "2027-01-31T08:00:00.000Z", "2027-02-19T12:00:00.000Z"]
      )
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("teams have limits, and keys", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      const failure = <E extends { readonly message: string }, R>(effect: Effect.Effect<unknown, E, R>) =>
        Effect.map(Effect.flip(effect), ({ message }) => message)
      assert.include(yield* listTeams(file, { json: false, spent }), "teams create NAME")
      yield* createTeam(file, "blue", { requestsPerMinute: 100, dailyTokens: 1000, monthlyCost: 200 })
      assert.include(yield* failure(createTeam(file, "blue", {})), "teams set blue")
      assert.include(yield* failure(createTeam(file, "a/b", {})), "letters, digits")
      assert.include(yield* failure(createTeam(file, "red", { monthlyCost: 0 })), "--monthly-cost 60")
      assert.include(yield* failure(createKey(file, { name: "x", team: "blu" })), "Is blue meant?")
      const created = yield* createKey(file, { name: "x", team: "blue" })
      const id = /key_\w+/.exec(created)?.[0] ?? ""
      const listed = yield* listTeams(file, { json: false, spent })
      assert.match(listed, /^TEAM +KEYS +RPM +DAILY-TOKENS +MONTHLY-COST +USED TODAY +USED +COST$/m)
      assert.match(listed, /^blue +1 +100 +1000 +200 +20 +17 +0.00$/m)
      const { teams } = JSON.parse(yield* listTeams(file, { json: true, spent }))
      assert.deepStrictEqual(teams[0].use, { monthlyTokens: 17, monthlyCost: 22, dailyTokens: 20 })
      assert.include(yield* setTeam(file, "blue", { monthlyTokens: 5 }), "Team blue: monthly-tokens none -> 5.")
      const kept = { name: "blue", requestsPerMinute: 100, monthlyTokens: 5, monthlyCost: 200 }
      assert.deepStrictEqual((yield* readBook(file)).teams, [{ ...kept, dailyTokens: 1000 }])
      yield* setTeam(file, "blue", { none: "daily-tokens" })
      assert.deepStrictEqual((yield* readBook(file)).teams, [kept])
      assert.include(yield* failure(setTeam(file, "blue", { none: "owner" })), "cannot be removed")
      assert.include(yield* failure(setTeam(file, "red", {})), "teams list")
      assert.include(yield* failure(removeTeam(file, "blue")), id)
      yield* revokeKey(file, id)
      yield* removeTeam(file, "blue")
      assert.deepStrictEqual((yield* readBook(file)).teams, [])
      assert.include(yield* failure(removeTeam(file, "blue")), "no team")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a key is changed by what is given, and by nothing else", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      yield* createTeam(file, "blue", {})
      yield* createKey(file, {
        name: "x",
        requestsPerMinute: 60,
        streams: 10,
        expires: "2030-01-01",
        owner: "A. Miller"
      })
      const { id } = yield* only(file)
      const said = yield* setKey(file, id, {
        requestsPerMinute: 900,
        levels: "il5,itar",
        team: "blue",
        none: "streams,expires"
      })
      assert.include(
        said,
        "rpm 60 -> 900, streams 10 -> none, expires 2030-01-01T00:00:00.000Z -> none, levels none -> il5,itar, team none -> blue."
      )
      const { levels, name, owner, requestsPerMinute, streams, team, ...rest } = yield* only(file)
      assert.deepStrictEqual(
        { levels, name, owner, requestsPerMinute, streams, team },
        {
          levels: ["il5", "itar"],
          name: "x",
          owner: "A. Miller",
          requestsPerMinute: 900,
          streams: undefined,
          team: "blue"
        }
      )
      assert.isUndefined(rest.expires)
      const wrong: ReadonlyArray<readonly [Parameters<typeof setKey>[2], string]> = [
        [{}, "nothing would change"],
        [{ requestsPerMinute: 900 }, "nothing would change"],
        [{ none: "digest" }, "cannot be removed"],
        [{ requestsPerMinute: 5, none: "rpm" }, "--rpm is given, and --none removes it"],
        [{ requestsPerMinute: 0 }, "--rpm 60"],
        [{ team: "red" }, "no team"]
      ]
      for (const [options, why] of wrong) {
        assert.include((yield* Effect.flip(setKey(file, id, options))).message, why)
      }
      assert.include((yield* Effect.flip(setKey(file, "key_0", { requestsPerMinute: 5 }))).message, "keys list")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a key lives no longer than the operator allows", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      yield* TestClock.setTime(Date.UTC(2026, 10, 21))
      const rules = { maxAge: Duration.days(90) }
      yield* createKey(file, { name: "x" }, rules)
      const { expires, id } = yield* only(file)
      assert.strictEqual(expires && DateTime.formatIso(expires), "2027-02-19T00:00:00.000Z")
      for (const longer of ["2027-02-20", "91d"]) {
        const error = yield* Effect.flip(createKey(file, { name: "x", expires: longer }, rules))
        assert.include(error.message, "GATEWAY_KEYS_MAX_AGE")
      }
      yield* TestClock.setTime(Date.UTC(2026, 11, 1))
      assert.include((yield* Effect.flip(setKey(file, id, { expires: "90d" }, rules))).message, "2027-02-19")
      assert.include((yield* Effect.flip(setKey(file, id, { none: "expires" }, rules))).message, "GATEWAY_KEYS_MAX_AGE")
      yield* setKey(file, id, { expires: "30d" }, rules)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a key that is disabled is refused until it is enabled", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      const secret = secretIn(yield* createKey(file, { name: "x" }))
      const { id } = yield* only(file)
      const works = Effect.gen(function* () {
        const keys = yield* Keys
        return Result.isSuccess(keys.authenticate(secret, yield* Clock.currentTimeMillis))
      }).pipe(Effect.provide(Layer.fresh(Keys.layer({ file }))))
      yield* disableKey(file, id)
      assert.isFalse(yield* works)
      assert.include(yield* listKeys(file, { json: false, spent }), "disabled 1970-01-01")
      assert.include(yield* disableKey(file, id), "already")
      yield* enableKey(file, id)
      assert.isTrue(yield* works)
      yield* revokeKey(file, id)
      assert.include((yield* Effect.flip(enableKey(file, id))).message, "for good")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a caller without a key is refused by its ID, and listed while it is", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      const id = `jwt_${"0f".repeat(12)}`
      const why = Effect.map(Keys, ({ refusalOf }) => refusalOf(id)).pipe(
        Effect.provide(Layer.fresh(Keys.layer({ file })))
      )
      yield* createTeam(file, "blue", {})
      assert.include(yield* enableKey(file, id), `Caller ${id} is enabled already`)
      assert.include(yield* disableKey(file, id), `Disabled caller ${id}`)
      assert.strictEqual(yield* why, "disabled")
      // Other commands keep it.
      yield* createKey(file, { name: "x" })
      yield* setTeam(file, "blue", { requestsPerMinute: 1 })
      assert.match(yield* listKeys(file, { json: false, spent }), new RegExp(`CALLER +STATUS\\n${id} +disabled 1970`))
      yield* enableKey(file, id)
      assert.isUndefined(yield* why)
      assert.notInclude(yield* listKeys(file, { json: false, spent }), "CALLER")
      yield* revokeKey(file, id)
      assert.strictEqual(yield* why, "revoked")
      assert.include(yield* revokeKey(file, id), `Caller ${id} is revoked since 1970-01-01`)
      assert.include((yield* Effect.flip(enableKey(file, id))).message, "for good")
      assert.include((yield* Effect.flip(revokeKey(file, "jwt_0"))).message, "There is no key")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("many are listed in time that grows with their number, not with its square", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      yield* createKey(file, { name: "first" })
      const { keys, version } = JSON.parse(yield* fs.readFileString(file))
      const listing = (count: number): Work => {
        const many = Array.from({ length: count }, (_, n) => ({
          ...keys[0],
          id: `key_${n}`,
          digest: n.toString(16).padStart(64, "0")
        }))
        const list = listKeys(file, { json: false, spent: unread }).pipe(Effect.provide(NodeFileSystem.layer))
        return async (_, turns) => {
          writeFileSync(file, JSON.stringify({ version, keys: many }))
          const text = Exit.getSuccess(await turns("list", list))
          assert.lengthOf(Option.getOrThrow(text).match(/^key_/gm) ?? [], count)
        }
      }
      const slow = yield* Effect.promise(() => superlinear(listing, 1000))
      // A command holds nobody up.
      assert.isEmpty(slow.filter((text) => !text.endsWith("in one step")))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("those that nobody uses are listed", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      const start = Date.UTC(2026, 8, 1)
      yield* TestClock.setTime(start)
      for (const name of ["used", "idle", "gone", "ended"]) {
        yield* createKey(file, { name, expires: name === "ended" ? "2026-11-01" : undefined })
      }
      const ids = new Map((yield* readBook(file)).keys.map(({ id, name }) => [name, id]))
      yield* revokeKey(file, ids.get("gone") ?? "")
      yield* TestClock.setTime(Date.UTC(2026, 10, 21))
      yield* createKey(file, { name: "new" })
      const lastUse = Date.UTC(2026, 9, 25)
      const of = (names: ReadonlyArray<string>) =>
        Effect.succeed(names.map((name) => (name === `${ids.get("used")}:last-use` ? lastUse : 0)))
      const listed = (unused: string) =>
        Effect.map(listKeys(file, { json: true, spent: of, unused }), (text) =>
          JSON.parse(text).keys.map(({ name, use }: { readonly name: string; readonly use: unknown }) => [name, use])
        )
      const never = { monthlyTokens: 0, monthlyCost: 0, lastUse: null }
      assert.deepStrictEqual(yield* listed("30d"), [["idle", never]])
      assert.deepStrictEqual(yield* listed("20d"), [
        ["used", { ...never, lastUse: "2026-10-25T00:00:00.000Z" }],
        ["idle", never]
      ])
      assert.include(yield* listKeys(file, { json: false, spent: of, unused: "90d" }), "was used within 90d")
      const failed = (unused: string, spent: typeof of | typeof unread) =>
        Effect.map(Effect.flip(listKeys(file, { json: false, spent, unused })), ({ message }) => message)
      assert.match(yield* failed("30 days", of), /such as 30d; not "30 days"$/)
      // What is not known is not called idle.
      assert.include(yield* failed("30d", unread), "not known: set GATEWAY_REDIS_URL")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a rotated key's old secret works for as long as it is said", () =>
    Effect.gen(function* () {
      const times = yield* Effect.forEach([undefined, "0", "2 hours", "30 days"], (text) => parseOverlap(text))
      assert.deepStrictEqual(times.map(Duration.toHours), [24, 0, 2, 720])
      for (const wrong of ["", "soon", "31 days", "-1 hour", "Infinity"]) {
        const { message } = yield* Effect.flip(parseOverlap(wrong))
        assert.match(message, /^--overlap: expected 0, or a time/)
        assert.isTrue(message.endsWith(`; not ${JSON.stringify(wrong)}`), message)
      }
    })
  )

  it.effect("a key that has expired gets no new secret, and one that expires no longer life", () =>
    Effect.gen(function* () {
      const file = yield* keyFile
      yield* TestClock.setTime(Date.UTC(2026, 10, 21))
      yield* createKey(file, { name: "x", expires: "2026-11-21T06:00:00Z" })
      const { digest, id } = yield* only(file)
      const { text } = yield* rotateKey(file, id)
      assert.include(text, "The old secret works until 2026-11-21 06:00")
      yield* TestClock.adjust("6 hours")
      const { digest: rotated } = yield* only(file)
      assert.include((yield* Effect.flip(rotateKey(file, id))).message, "has expired. Give it another end")
      assert.strictEqual((yield* only(file)).digest, rotated)
      assert.notStrictEqual(rotated, digest)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a misspelt restriction is refused", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* keyFile
      yield* createKey(file, { name: "x", levels: "il5" })
      yield* fs.writeFileString(file, (yield* fs.readFileString(file)).replace('"levels"', '"level"'))
      assert.include((yield* Effect.flip(readBook(file))).message, "not a key file")
      yield* fs.writeFileString(
        file,
        (yield* fs.readFileString(file))
          .replace('"level"', '"team": "blue", "levels"')
          .replace('"keys"', '"teams": [{ "name": "red" }], "keys"')
      )
      assert.include((yield* Effect.flip(readBook(file))).message, "is of team blue, which teams does not name")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})
