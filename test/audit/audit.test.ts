import { execFileSync } from "node:child_process"
import { chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { hostname, tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { AuditEvent } from "../../src/audit/Audit.ts"
import { evidence } from "../../src/operators/doctor/evidence.ts"
import { start, until } from "../operation/child.ts"
import { sharedCommands } from "../operation/commands.ts"
import { keysFileWith } from "../operation/keysFile.ts"
import { startGateway } from "../support/gateway.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-audit-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const decode = Schema.decodeUnknownSync(AuditEvent, { onExcessProperty: "ignore" })
const linesIn = (file: string) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
const eventsIn = (file: string) =>
  linesIn(file)
    .map((line): ReturnType<typeof JSON.parse> => JSON.parse(line))
    .filter((line) => "audit" in line)
    .map((line) => decode(line))

const run = sharedCommands()

describe("the gateway's audit events", () => {
  it("say what was started, read, refused and ended, with a digest and never a secret", async () => {
    const log = join(folder, "events.jsonl")
    const used = join(folder, "used.jsonl")
    const keys = keysFileWith(folder, {
      good: {},
      revoked: { revoked: "2026-01-02T00:00:00.000Z" },
      old: { expires: "2026-01-02T00:00:00.000Z" }
    })
    const gateway = await startGateway({
      settings: { GATEWAY_KEYS_FILE: keys.file, GATEWAY_AUDIT_LOG: log, GATEWAY_USAGE_LOG: used }
    })
    const ask = (headers: Readonly<Record<string, string>>) => fetch(`${gateway.url}/v1/models`, { headers })
    for (const headers of [
      {},
      { authorization: "Bearer x" },
      { "x-api-key": "wrong" },
      { "x-api-key": keys.secrets.revoked },
      { "x-api-key": keys.secrets.old },
      { "x-api-key": keys.secrets.good }
    ]) {
      await (await ask(headers)).body?.cancel()
    }
    // Nobody else is refused there.
    for (const headers of [{}, { "x-api-key": keys.secrets.good }, { "x-api-key": keys.secrets.revoked }]) {
      assert.strictEqual((await fetch(`${gateway.url}/health`, { headers })).status, 200)
    }
    writeFileSync(keys.file, "{")
    await until(() => eventsIn(log).some(({ audit }) => audit === "file.refused"), "a refused file")
    keys.write({ good: {} })
    await until(
      () => eventsIn(log).filter(({ audit }) => audit === "file.read").length === 3,
      "a file that is read again"
    )
    gateway.drain()
    await gateway.stop()

    const events = eventsIn(log)
    const named = (name: string) => events.filter(({ audit }) => audit === name)
    assert.deepStrictEqual(
      [events[0]?.audit, events.at(-1)?.audit, named("gateway.draining").length],
      ["gateway.started", "gateway.stopped", 1]
    )
    assert.match(String(events[0]?.detail?.settings), /^[0-9a-f]{64}$/)
    const [shipped, first, second] = named("file.read").sort((left, right) =>
      String(left.detail?.kind).localeCompare(String(right.detail?.kind))
    )
    assert.deepInclude(shipped?.detail, { kind: "catalog", path: "shipped" })
    // What assessors compare it with.
    const { catalog } = await Effect.runPromise(Effect.provide(evidence({ GATEWAY_PORT: "0" }), NodeServices.layer))
    assert.strictEqual(Object(catalog).sha256, shipped?.detail?.sha256)
    assert.deepInclude(first?.detail, { kind: "keys", path: keys.file })
    assert.notStrictEqual(first?.detail?.sha256, second?.detail?.sha256)
    assert.include(named("file.refused")[0]?.reason, "is not a key file")
    const keyIds = linesIn(used).map((line) => JSON.parse(line).key_id)
    assert.deepStrictEqual(keyIds, [null, null, null, "revoked", "old", "good"])
    assert.deepStrictEqual(
      named("caller.refused").map(({ actor, outcome, reason }) => [reason, actor.key_id, actor.source, outcome]),
      [
        ["missing", undefined, "127.0.0.1", "failure"],
        ["missing", undefined, "127.0.0.1", "failure"],
        ["unknown", undefined, "127.0.0.1", "failure"],
        ["revoked", "revoked", "127.0.0.1", "failure"],
        ["expired", "old", "127.0.0.1", "failure"],
        ["revoked", "revoked", "127.0.0.1", "failure"]
      ]
    )
    const text = readFileSync(log, "utf8")
    for (const secret of Object.values(keys.secrets)) assert.notInclude(text, secret)
    const verified = await run(["usage", "verify", log], {})
    assert.strictEqual(verified.code, 0, verified.stdout + verified.stderr)
  })

  it("are not kept unless a place is named", async () => {
    const file = join(folder, "none.jsonl")
    const gateway = await startGateway({ settings: { GATEWAY_USAGE_LOG: file } })
    await (await fetch(`${gateway.url}/v1/models`, { headers: { "x-api-key": "wrong" } })).body?.cancel()
    await gateway.stop()
    assert.lengthOf(linesIn(file), 1)
    assert.deepStrictEqual(eventsIn(file), [])
  })

  it("go to standard output by that name", async () => {
    const broken = join(folder, "broken.json")
    writeFileSync(broken, "{")
    const { code, stdout } = await start(["serve"], { GATEWAY_AUDIT_LOG: "stdout", GATEWAY_KEYS_FILE: broken }).ended
    assert.strictEqual(code, 1)
    assert.deepStrictEqual(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
        .map(({ audit, outcome }) => [audit, outcome]),
      [
        ["gateway.started", "success"],
        ["file.read", "success"],
        ["gateway.stopped", "failure"]
      ]
    )
  })

  it("stand beside the usage records in the same file, and are no damage there", async () => {
    const file = join(folder, "beside.jsonl")
    const gateway = await startGateway({ settings: { GATEWAY_USAGE_LOG: file, GATEWAY_AUDIT_LOG: file } })
    for (const key of ["sandbox-key", "wrong"]) {
      await (await fetch(`${gateway.url}/v1/models`, { headers: { "x-api-key": key } })).body?.cancel()
    }
    await gateway.stop()
    assert.deepStrictEqual(
      eventsIn(file).map(({ audit }) => audit),
      ["gateway.started", "file.read", "caller.refused", "gateway.stopped"]
    )
    assert.strictEqual(linesIn(file).length, 6)
    const summed = await run(["usage", file, "--format", "json"], {})
    const sums = JSON.parse(summed.stdout)
    assert.strictEqual(sums.total?.requests ?? sums.totals?.requests, 2, summed.stdout.slice(0, 500))
    assert.notInclude(summed.stderr, "damaged")
    assert.strictEqual((await run(["usage", "verify", file], {})).code, 0)
  })
})

describe("a command's audit events", () => {
  it.runIf(process.getuid?.() === 0)(
    "stand in a file of the service's, also where root's command makes it",
    async () => {
      const logs = mkdtempSync(join(folder, "logs-"))
      chownSync(logs, 65_532, 65_533)
      const log = join(logs, "audit.jsonl")
      const keys = join(folder, "of-root.json")
      const { code, stderr } = await run(["keys", "create", "--name", "x"], {
        GATEWAY_KEYS_FILE: keys,
        GATEWAY_AUDIT_LOG: log
      })
      assert.strictEqual(code, 0, stderr)
      const { gid, mode, uid } = statSync(log)
      assert.deepStrictEqual([uid, gid, mode & 0o777], [65_532, 65_533, 0o600])
    }
  )

  it.each(["keys create --name x", "teams create x"])(
    "that cannot be written leave it done, shown and reported: %s",
    async (command) => {
      const { code, stderr, stdout } = await run(command.split(" "), { GATEWAY_AUDIT_LOG: join(folder, "none/log") })
      assert.strictEqual(code, 1)
      assert.match(stdout, command.startsWith("keys") ? /\n {2}gmg_[\w-]{43}\n/ : /^Created team x in keys\.json/)
      assert.match(
        stderr,
        /^gateway: it is done, but the audit log \(GATEWAY_AUDIT_LOG\) has no event of it: cannot write .*none does not/
      )
    }
  )

  it("do not wait for the reader of a pipe, who may never come", async () => {
    const pipe = join(folder, "pipe")
    execFileSync("mkfifo", [pipe])
    const { code, stderr, stdout } = await run(["keys", "create", "--name", "x"], { GATEWAY_AUDIT_LOG: pipe })
    assert.strictEqual(code, 1)
    assert.match(stdout, /\n {2}gmg_[\w-]{43}\n/)
    assert.match(
      stderr,
      /^gateway: it is done, but the audit log \(GATEWAY_AUDIT_LOG\) has no event of it: cannot write .*: nothing reads it/
    )
  })

  it("say who changed which key and team, and how", async () => {
    const log = join(folder, "commands.jsonl")
    const environment = { GATEWAY_KEYS_FILE: join(folder, "commanded.json"), GATEWAY_AUDIT_LOG: log, HOME: folder }
    const done = async (...args: ReadonlyArray<string>) => {
      const { code, stderr, stdout } = await run(args, environment)
      assert.strictEqual(code, 0, stderr)
      return stdout
    }
    await done("teams", "create", "blue", "--rpm", "100")
    const created = await done("keys", "create", "--name", "x", "--rpm", "60", "--levels", "il5", "--team", "blue")
    const id = /key_\w+/.exec(created)?.[0] ?? ""
    await done("teams", "set", "blue", "--none", "rpm", "--streams", "5")
    await done("keys", "set", id, "--rpm", "900")
    await done("keys", "disable", id)
    const rotated = await done("keys", "rotate", id, "--overlap", "0")
    await done("keys", "revoke", id)
    await done("teams", "remove", "blue")
    const failed = await run(["keys", "set", id], environment)
    assert.notStrictEqual(failed.code, 0)

    const events = eventsIn(log)
    const actor = { kind: "operator" as const, user: userInfo().username, host: hostname() }
    for (const event of events) assert.deepStrictEqual(event.actor, actor)
    assert.deepStrictEqual(
      events.map(({ audit, detail }) => [audit, detail?.changes ?? detail?.given]),
      [
        ["team.created", "rpm 100"],
        ["key.created", "rpm 60, levels il5, team blue"],
        ["team.changed", "rpm 100 -> none, streams none -> 5"],
        ["key.changed", "rpm 60 -> 900"],
        ["key.changed", "enabled -> disabled"],
        ["key.rotated", undefined],
        ["key.revoked", undefined],
        ["team.removed", undefined]
      ]
    )
    for (const text of [created, rotated]) {
      const secret = /gmg_[\w-]+/.exec(text)?.[0] ?? assert.fail("no secret")
      assert.notInclude(readFileSync(log, "utf8"), secret)
    }
    assert.strictEqual((await run(["usage", "verify", log], {})).code, 0)
  }, 60_000)
})
