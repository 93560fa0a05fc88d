import { stripVTControlCharacters as bare } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Option, Schema, Tracer } from "effect"
import { RequestRecord } from "../../src/http/RequestRecord.ts"
import { jsonLogger, logRequest, logsLayer, prettyLogger } from "../../src/telemetry/logs.ts"

/** The lines that an effect logs. */
const lines = Effect.fnUntraced(function* (logger: Logger.Logger<unknown, string>, effect: Effect.Effect<unknown>) {
  const written: Array<string> = []
  const sink = Logger.map(logger, (line) => {
    written.push(line)
  })
  yield* Effect.provide(effect, Logger.layer([sink]))
  return written
})

const hostile = "a\r\nlevel=error\u001b[31m\u0000\u2028\u2029\u202e\u200b\ud800"
/** What could end a line, steer a terminal or turn text around. */
const control = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

describe("JSON", () => {
  it.effect("is one object a line, with annotations and trace", () =>
    Effect.gen(function* () {
      const span = Tracer.externalSpan({ traceId: "a".repeat(32), spanId: "b".repeat(16) })
      const [line] = yield* lines(
        jsonLogger,
        Effect.logWarning("the message", { more: 1 }).pipe(
          Effect.annotateLogs({ request_id: "r", nothing: undefined, level: "spoofed" }),
          Effect.withParentSpan(span)
        )
      )
      const { timestamp, ...rest } = JSON.parse(line ?? "")
      assert.match(timestamp, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      assert.deepStrictEqual(rest, {
        level: "warn",
        message: 'the message {"more":1}',
        request_id: "r",
        trace_id: "a".repeat(32),
        span_id: "b".repeat(16)
      })
    })
  )

  it.effect("has no trace where nothing is traced", () =>
    Effect.gen(function* () {
      const [line = ""] = yield* lines(
        jsonLogger,
        Effect.logInfo("m").pipe(Effect.withSpan("s"), Effect.withTracerEnabled(false))
      )
      const { timestamp: _, ...rest } = JSON.parse(line)
      assert.deepStrictEqual(rest, { level: "info", message: "m" })
    })
  )

  it.effect("keeps a failure on its line", () =>
    Effect.gen(function* () {
      const failing = Effect.die(new Error("it broke"))
      const [line, ...rest] = yield* lines(
        jsonLogger,
        Effect.catchCause(failing, (cause) => Effect.logError("oh", cause))
      )
      assert.strictEqual(rest.length, 0)
      assert.match(JSON.parse(line ?? "").cause, /it broke[\s\S]*at /)
    })
  )

  it.effect("does not repeat what V8 quotes of a text that is not JSON", () =>
    Effect.gen(function* () {
      for (const text of [
        '{"a": CANARY',
        "CANARY and a long text that V8 shortens in its message, which is CANARY",
        "{'CANARY"
      ]) {
        const parsing = Effect.sync(() => JSON.parse(text))
        const [line] = yield* lines(
          jsonLogger,
          Effect.catchCause(parsing, (cause) => Effect.logError("oh", cause))
        )
        assert.include(line, "SyntaxError")
        assert.notInclude(line, "CANARY")
      }
    })
  )

  it.effect.prop("any text stays on one line and comes back as it was", { text: Schema.String }, ({ text }) =>
    Effect.gen(function* () {
      for (const given of [text, hostile + text]) {
        const [line = ""] = yield* lines(jsonLogger, Effect.logInfo(given).pipe(Effect.annotateLogs({ value: given })))
        assert.notMatch(line, control)
        const read = JSON.parse(line)
        assert.strictEqual(read.message, given)
        assert.strictEqual(read.value, given)
      }
    })
  )
})

it.effect("the line of a request has the beginning of what a caller chose", () =>
  Effect.gen(function* () {
    const x = "x".repeat(10_000)
    const request = new RequestRecord({
      ...{ id: "r", startedAt: 0, method: "GET", path: `/${x}`, source: undefined, surface: undefined }
    })
    request.modelId = x
    const [line = ""] = yield* lines(jsonLogger, logRequest(request, "invalid", 1, undefined))
    const { message, model } = JSON.parse(line)
    assert.deepStrictEqual([message, model], [`GET /${x.slice(0, 255)}`, x.slice(0, 256)])
  })
)

describe("for a terminal", () => {
  it.effect("shows time, level, message and values", () =>
    Effect.gen(function* () {
      const logged = Effect.logInfo("done").pipe(
        Effect.annotateLogs({ model: "a:il5", of: "two words", no: undefined })
      )
      const [line = ""] = yield* lines(prettyLogger, logged)
      assert.match(bare(line), /^[\d:.]{12} INFO {2}done (model=a:il5 of="two words"|of="two words" model=a:il5)$/)
    })
  )

  it.effect.prop("any text stays on one line", { text: Schema.String }, ({ text }) =>
    Effect.gen(function* () {
      const given = hostile + text
      const logged = Effect.logInfo(given).pipe(Effect.annotateLogs({ [given]: given }))
      const [line = ""] = yield* lines(prettyLogger, logged)
      assert.notMatch(bare(line), control)
    })
  )
})

it.effect("the level holds back what is below it", () =>
  Effect.gen(function* () {
    let written = 0
    const count = Logger.layer([Logger.make(() => void written++)])
    const all = Effect.logDebug("d").pipe(Effect.andThen(Effect.logInfo("i")), Effect.andThen(Effect.logError("e")))
    const at = (logLevel: "debug" | "error" | "none") =>
      all.pipe(Effect.provide(count), Effect.provide(logsLayer({ logLevel, logFormat: Option.some("json") })))
    yield* at("debug")
    assert.strictEqual(written, 3)
    yield* at("error")
    assert.strictEqual(written, 4)
    yield* at("none")
    assert.strictEqual(written, 4)
  })
)
