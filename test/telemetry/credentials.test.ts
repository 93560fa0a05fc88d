import { assert, it } from "@effect/vitest"
import { Effect, Option, Redacted, Tracer } from "effect"
import { makeTokenCache } from "../../src/provider/credentials/Token.ts"
import { spanLimits } from "../../src/telemetry/otlp/environment.ts"
import { makeIds } from "../../src/telemetry/otlp/ids.ts"
import type { Message } from "../../src/telemetry/otlp/protobuf.ts"
import { makeTracer } from "../../src/telemetry/otlp/tracer.ts"
import { serverSpan } from "../../src/telemetry/spans.ts"

it.effect("a refresh of credentials is a child of the request that waited for it, once", () =>
  Effect.gen(function* () {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const cache = yield* makeTokenCache(Effect.succeed({ token: Redacted.make("t"), expiresAt: 3_600_000 }))
    const request = Effect.withSpan(cache.get, "request")
    yield* Effect.andThen(request, request).pipe(Effect.provideService(Tracer.Tracer, tracer))
    const [refresh, ...others] = spans.filter(({ name }) => name === "credentials refresh")
    assert.strictEqual(others.length, 0)
    assert.strictEqual(refresh?.parent._tag === "Some" ? refresh.parent.value.spanId : "", spans[0]?.spanId)
    assert.strictEqual(refresh?.status._tag, "Ended")
  })
)

it.effect("it is the request's child also where only the log lines know of the request", () =>
  Effect.gen(function* () {
    const ended: Array<Tracer.Span> = []
    const tracer = makeTracer({
      sampler: () => true,
      limits: spanLimits({}),
      ids: makeIds(),
      add: (span) => void ended.push(span as Message & Tracer.Span)
    })
    const cache = yield* makeTokenCache(Effect.succeed({ token: Redacted.make("t"), expiresAt: 3_600_000 }))
    const request = tracer.open({ of: { name: "r", kind: "server", attributes: {} }, parent: undefined, startTime: 0 })
    yield* Effect.annotateLogs(cache.get, { [serverSpan]: request })
    const [refresh] = ended
    assert.strictEqual(refresh?.name, "credentials refresh")
    assert.strictEqual(refresh?.traceId, request.traceId)
    assert.deepStrictEqual(refresh?.parent, Option.some(request))
  })
)
