import { spawn } from "node:child_process"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, FileSystem, Layer, Logger, Metric, PlatformError, References, Schema } from "effect"
import { TestClock } from "effect/testing"
import { GatewayError } from "../../src/catalog/GatewayError.ts"
import { outcomeOf, type RequestFacts } from "../../src/catalog/RequestFacts.ts"
import type { Sink } from "../../src/limits/recordSinks.ts"
import { makeUsageLog, UsageLog } from "../../src/limits/UsageLog.ts"
import { recordLine, UsageRecord, usageRecordOf } from "../../src/limits/UsageRecord.ts"
import { makeChainChecking } from "../../src/operators/usage/chainCheck.ts"
import { record } from "../usage/records.ts"

const idsOf = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).request_id)
const ids = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => `request-${from + n}`)
const recordAll = (log: UsageLog["Service"], from: number, to: number) =>
  Effect.sync(() => ids(from, to).forEach((_, n) => void log.record(record(from + n))))

/** A disk that takes nothing while it is full, as it is at first. */
const makeDisk = () => {
  const disk = { full: true, written: "" }
  const sink: Sink = (lines) =>
    Effect.suspend(() => {
      if (disk.full) return Effect.fail({ message: "disk full" })
      disk.written += lines.splice(0).join("")
      return Effect.void
    })
  return Object.assign(disk, { sink })
}

/** What standard error and the log are told. */
const listen = () => {
  const stderr: Array<string> = []
  const logged: Array<string> = []
  const anchors: Array<string> = []
  const console_: Console.Console = { ...globalThis.console, error: (text: unknown) => void stderr.push(String(text)) }
  const provide = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provideService(Console.Console, console_),
      Effect.provide(
        Logger.layer([
          Logger.make(({ fiber, message }) => {
            const annotations = fiber.getRef(References.CurrentLogAnnotations)
            if ("usage_digest" in annotations) anchors.push(JSON.stringify(annotations))
            else logged.push(String(message))
          })
        ])
      )
    )
  return { stderr, logged, anchors, provide }
}

describe("a usage record", () => {
  it.prop("is one line of JSON that reads back as the record", { value: UsageRecord }, ({ value }) => {
    const line = recordLine(value)
    assert.match(line, /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u)
    const back = Schema.decodeUnknownSync(UsageRecord)(JSON.parse(line))
    assert.deepStrictEqual({ ...back }, JSON.parse(JSON.stringify(value)))
  })

  it("escapes what would end a line or control a terminal", () => {
    const line = recordLine(record(1, { model: 'a\r\n{"outcome":"ok"}\u001b[2J\u007f\u009b\u202e\u2028' }))
    for (const text of ["\n", "\r", "\u001b", "\u007f", "\u009b", "\u202e", "\u2028"]) assert.notInclude(line, text)
    assert.include(JSON.parse(line).model, "\u202e")
  })

  const facts: RequestFacts = {
    id: "request-1",
    startedAt: Date.UTC(2026, 10, 21),
    method: "POST",
    path: "/v1/chat/completions",
    source: undefined,
    surface: "chat",
    keyId: undefined,
    caller: undefined,
    modelId: undefined,
    route: undefined,
    cloud: undefined,
    region: undefined,
    tried: [],
    upstreamRequestId: undefined,
    status: 0,
    failure: undefined,
    outcome: undefined,
    stream: false,
    streamEnd: undefined,
    charged: undefined,
    cost: undefined,
    overhead: undefined,
    bytesIn: 0,
    bytesOut: 0,
    tools: 0,
    images: 0,
    guardCounts: undefined,
    adjusted: 0,
    files: 0,
    flags: 0,
    firstEventAt: undefined,
    quota: undefined
  }

  it("is made of a request's facts, of the paths that endpoints answer", () => {
    assert.isUndefined(usageRecordOf({ ...facts, surface: undefined }, "ok", facts.startedAt))
    const none = { key_id: null, source: null, model: null, deployment: null, level: null, upstream_request_id: null }
    assert.deepInclude(usageRecordOf(facts, "cancelled", facts.startedAt + 5), {
      ...none,
      time: "2026-11-21T00:00:00.000Z",
      status: null,
      outcome: "cancelled",
      duration_ms: 5,
      first_event_ms: null,
      tokens: null,
      quota: null
    })
    const later = {
      ...facts,
      firstEventAt: facts.startedAt + 2,
      status: 200,
      tokens: { input: 1, output: 2 },
      charged: { input: 1, output: 25, cached: 1, estimated: true }
    }
    const line = recordLine(usageRecordOf(later, "ok", facts.startedAt + 5) ?? assert.fail())
    assert.deepInclude(JSON.parse(line), {
      status: 200,
      outcome: "ok",
      first_event_ms: 2,
      tokens: { input: 1, output: 25, cached: 1, estimated: true }
    })
  })

  it("keeps no more than the beginning of what a caller chose, however long it waits", () => {
    const modelId = `\ud800${"x".repeat(1000)}`
    assert.strictEqual(usageRecordOf({ ...facts, modelId }, "ok", 0)?.model, modelId.slice(0, 256).toWellFormed())
  })

  it("names how a request failed", () => {
    const outcome = (fields: Partial<GatewayError>) =>
      outcomeOf(new GatewayError({ reason: "upstream", message: "", ...fields }))
    assert.strictEqual(outcome({ reason: "rate-limit" }), "rate_limited")
    assert.strictEqual(outcome({ reason: "rate-limit", upstreamStatus: 429 }), "upstream_error")
    assert.strictEqual(outcome({ code: "cut" }), "cut")
    assert.strictEqual(outcome({ reason: "timeout", code: "idle" }), "idle")
    assert.strictEqual(outcome({ reason: "media-type" }), "invalid")
  })
})

describe("the usage log", () => {
  it.live("appends to a file, survives its rotation, and flushes at the end", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* fs.makeTempDirectoryScoped()}/usage.log`
      const written = (path: string) =>
        fs.readFileString(path).pipe(
          Effect.orElseSucceed(() => ""),
          Effect.map((text) => idsOf(text).length)
        )
      yield* Effect.gen(function* () {
        const log = yield* UsageLog
        yield* recordAll(log, 1, 3)
        log.record(record(0, { surface: "count_tokens" }))
        yield* Effect.repeat(Effect.delay(written(file), "5 millis"), { until: (n) => n === 3 })
        yield* fs.rename(file, `${file}.1`)
        yield* recordAll(log, 4, 2503)
        log.record(record(2504, { surface: "count_tokens", outcome: "upstream_error" }))
      }).pipe(Effect.provide(UsageLog.layer(file)), listen().provide)
      assert.deepStrictEqual(idsOf(yield* fs.readFileString(`${file}.1`)), ids(1, 3))
      assert.deepStrictEqual(idsOf(yield* fs.readFileString(file)), ids(4, 2504))
      assert.strictEqual((yield* fs.stat(file)).mode & 0o777, 0o600)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("a sink that fails is tried again, and a record is on stderr or in the log, never nowhere", () =>
    Effect.gen(function* () {
      const { logged, provide, stderr } = listen()
      const disk = makeDisk()
      yield* Effect.gen(function* () {
        const log = yield* makeUsageLog(disk.sink, { capacity: 10 })
        yield* recordAll(log, 1, 1)
        yield* TestClock.adjust("3 seconds")
        yield* recordAll(log, 2, 20)
        assert.deepStrictEqual(idsOf(stderr.join("\n")), ids(12, 20))
        assert.strictEqual(logged.filter((line) => line.includes("disk full")).length, 1)
        disk.full = false
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(idsOf(disk.written), ids(1, 11))
        assert.include(logged.at(-1) ?? "", "written again")
        assert.match(JSON.stringify(yield* Metric.snapshot), /gateway_usage_records_total/)
      }).pipe(Effect.scoped, provide)
    })
  )

  it.effect("what a dead sink has not taken at the end goes to stderr", () =>
    Effect.gen(function* () {
      const { provide, stderr } = listen()
      yield* Effect.gen(function* () {
        const log = yield* makeUsageLog(() => Effect.never, { flush: 0 })
        yield* recordAll(log, 1, 1)
        yield* Effect.yieldNow
        yield* recordAll(log, 2, 30)
      }).pipe(Effect.scoped, provide)
      assert.deepStrictEqual([...idsOf(stderr.join("\n"))].sort(), [...ids(1, 30)].sort())
    })
  )

  /** Of files, with what the log says. */
  const check = (log: ReadonlyArray<string>, ...files: ReadonlyArray<string>) => {
    const checking = makeChainChecking(() => false)
    for (const [at, line] of log.entries()) checking.anchor(line, { file: "log", line: at + 1 })
    for (const [name, text] of files.entries()) {
      for (const [at, line] of text.split("\n").entries()) checking.line(line, { file: `f${name}`, line: at + 1 })
    }
    return checking.result()
  }

  it.effect("is a chain, and logs its head every minute and at the end", () =>
    Effect.gen(function* () {
      const { anchors, provide } = listen()
      const disk = Object.assign(makeDisk(), { full: false })
      yield* Effect.gen(function* () {
        const log = yield* makeUsageLog(disk.sink, {})
        yield* recordAll(log, 1, 10)
        yield* TestClock.adjust("1 minute")
        assert.deepInclude(JSON.parse(anchors[0] ?? ""), { usage_seq: 10 })
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual(anchors.length, 1)
        yield* recordAll(log, 11, 12)
      }).pipe(Effect.scoped, provide)
      assert.strictEqual(anchors.length, 2)
      const verdict = check(anchors, disk.written)
      assert.deepEqual([verdict.breaksAt, verdict.open], [[], []])
      assert.deepInclude(verdict.chains[0], { records: 12, first: 1, last: 12, anchors: 2 })
    })
  )

  it.live("has each record once where a disk was full in the middle of a line, and goes on where it was", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const file = `${yield* files.makeTempDirectoryScoped()}/usage.log`
      const { anchors, provide, stderr } = listen()
      /** Bytes that the disk still takes, and how often it took none. */
      let room = 2500
      let refused = 0
      const full = Effect.suspend(() => {
        refused++
        return Effect.fail(
          PlatformError.systemError({
            _tag: "Unknown",
            module: "FileSystem",
            method: "write",
            description: "disk full"
          })
        )
      })
      const untilRefused = (times: number) =>
        Effect.repeat(
          Effect.delay(
            Effect.sync(() => refused),
            "5 millis"
          ),
          { until: (n) => n === times }
        )
      const disk = FileSystem.make({
        ...files,
        open: (path, options) =>
          Effect.map(files.open(path, options), (opened) => {
            const write = opened.write.bind(opened)
            return Object.assign(opened, {
              write: (bytes: Uint8Array) => {
                const some = bytes.subarray(0, room)
                room -= some.length
                return some.length === 0 ? full : write(some)
              }
            })
          })
      })
      yield* Effect.gen(function* () {
        const log = yield* UsageLog
        yield* recordAll(log, 1, 10)
        yield* untilRefused(1)
        room = 1000
        yield* untilRefused(2)
        room = Number.MAX_SAFE_INTEGER
      }).pipe(Effect.provide(Layer.provide(UsageLog.layer(file), Layer.succeed(FileSystem.FileSystem, disk))), provide)
      assert.lengthOf(stderr, 0)
      const written = yield* files.readFileString(file)
      assert.notInclude(written, "\n\n")
      const verdict = check(anchors, written)
      assert.deepEqual([verdict.breaksAt, verdict.open, verdict.repeated, verdict.torn], [[], [], 0, 2])
      assert.deepInclude(verdict.chains[0], { records: 10, first: 1, last: 10 })
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )

  it.effect("has a chain that is whole with what went to stderr, and shows that it did without", () =>
    Effect.gen(function* () {
      const { anchors, logged, provide, stderr } = listen()
      const disk = makeDisk()
      yield* Effect.gen(function* () {
        const log = yield* makeUsageLog(disk.sink, { capacity: 10, flush: 0 })
        yield* recordAll(log, 1, 1)
        yield* TestClock.adjust("1 second")
        yield* recordAll(log, 2, 20)
        disk.full = false
        yield* TestClock.adjust("2 seconds")
        disk.full = true
        yield* recordAll(log, 21, 25)
      }).pipe(Effect.scoped, provide)
      assert.include(logged.join("\n"), "go to standard error; they are part of the chain")
      assert.include(logged.at(-1) ?? "", "14 usage records went to standard error")
      assert.strictEqual(check(anchors, disk.written, stderr.join("\n")).breaks, 0)
      assert.deepEqual(
        check(anchors, disk.written).breaksAt.map(({ kind, seq, through }) => [kind, seq, through]),
        [
          ["missing", 2, 10],
          ["missing", 21, 25]
        ]
      )
    })
  )

  it.live("is linked to what stood in its file when it started", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* fs.makeTempDirectoryScoped()}/usage.log`
      const { anchors, provide } = listen()
      const session = (from: number, to: number) =>
        Effect.flatMap(UsageLog, (log) => recordAll(log, from, to)).pipe(Effect.provide(UsageLog.layer(file)), provide)
      yield* session(1, 500)
      yield* fs.writeFileString(file, '{"half', { flag: "a" })
      yield* session(501, 503)
      const text = yield* fs.readFileString(file)
      const [first, second] = check(anchors, text).chains
      assert.include(text, `"after":"${first?.instance}:500"`)
      assert.deepEqual([first?.records, second?.records, anchors.length], [500, 3, 2])
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.live("loses no record to half a line that another process left", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* fs.makeTempDirectoryScoped()}/usage.log`
      yield* Effect.gen(function* () {
        const log = yield* UsageLog
        yield* recordAll(log, 1, 1)
        yield* Effect.repeat(Effect.delay(fs.stat(file), "5 millis"), { until: ({ size }) => size > 0 })
        yield* fs.writeFileString(file, '{"half', { flag: "a" })
        yield* recordAll(log, 2, 2)
      }).pipe(Effect.provide(UsageLog.layer(file)), listen().provide)
      assert.deepStrictEqual(idsOf((yield* fs.readFileString(file)).replace('{"half\n', "")), ids(1, 2))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.live("standard output, whose reader is slow, gets every record", () =>
    Effect.gen(function* () {
      const at = (path: string) => new URL(path, import.meta.url).pathname
      const child = spawn(process.execPath, ["--import", at("../../src/installed.js"), at("recorder.ts"), "3000"], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      let text = ""
      yield* Effect.sleep("500 millis")
      yield* Effect.callback<void>((resume) => {
        child.stdout.setEncoding("utf8").on("data", (data) => {
          text += data
        })
        child.once("close", () => resume(Effect.void))
      })
      assert.deepStrictEqual(idsOf(text), ids(1, 3000))
    })
  )
})
