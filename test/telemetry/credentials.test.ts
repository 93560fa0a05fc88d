import { assert, it } from "@effect/vitest"
import { Effect, Redacted, Tracer } from "effect"
import { makeTokenCache } from "../../src/cloud/credentials.ts"
import { recordingTracer } from "../support/recordingTracer.ts"

it.effect("a refresh of credentials is a child of the request that waited for it, once", () =>
  Effect.gen(function* () {
    const { spans, tracer } = recordingTracer()
    const cache = yield* makeTokenCache(Effect.succeed({ token: Redacted.make("t"), expiresAt: 3_600_000 }))
    const request = Effect.withSpan(cache.get, "request")
    yield* Effect.andThen(request, request).pipe(Effect.provideService(Tracer.Tracer, tracer))
    const [refresh, ...others] = spans.filter(({ name }) => name === "credentials refresh")
    assert.strictEqual(others.length, 0)
    assert.strictEqual(refresh?.parent._tag === "Some" ? refresh.parent.value.spanId : "", spans[0]?.spanId)
    assert.strictEqual(refresh?.status._tag, "Ended")
  })
)
