/** When a stream's slot is free again. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Result, Stream } from "effect"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { RequestRecord } from "../../src/http/RequestRecord.ts"
import { makeStreamReply } from "../../src/http/streamReply.ts"
import { messagesProtocol } from "../../src/surfaces/messagesStream.ts"
import { saying } from "../support/claude.ts"

const [model = assert.fail()] = Result.getOrThrow(shippedCatalog).models
const [deployment = assert.fail()] = model.deployments

it.effect("is free before the caller has the last event, after which it may begin another", () =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const record = new RequestRecord({
      id: "id",
      startedAt: 0,
      method: "POST",
      path: "/v1/messages",
      source: undefined,
      surface: "messages"
    })
    record.endStream = Effect.sync(() => void seen.push("free"))
    const limit = Duration.minutes(1)
    const limits = { heartbeat: limit, scanMode: "spec", streamIdleTimeout: limit, streamCeiling: limit } as const
    const events = saying("one", "two").map((event) => ({ event: event.type, data: JSON.stringify(event) }))
    const { body } = yield* makeStreamReply(limits, () => () => {})({
      protocol: messagesProtocol("m"),
      prepared: { operation: "inference", bodies: [{}], stream: true } as never,
      route: { model, deployment, level: "il2" } as never,
      provider: {
        stream: () => Stream.rechunk(Stream.fromIterable(events), 1),
        scrub: () => (text: string) => text
      } as never,
      record
    })
    if (body._tag !== "Stream") return assert.fail(body._tag)
    yield* Stream.runForEach(body.stream, (bytes) =>
      Effect.sync(() => {
        for (const [, name = ""] of Buffer.from(bytes)
          .toString()
          .matchAll(/^event: (.+)$/gm))
          seen.push(name)
      })
    )
    assert.strictEqual(seen.at(-1), "message_stop")
    assert.include(seen, "free")
  }).pipe(Effect.scoped)
)
