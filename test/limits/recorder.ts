/** A process that writes that many usage records to standard output. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Effect, Logger } from "effect"
import { UsageLog } from "../../src/limits/UsageLog.ts"

const program = Effect.gen(function* () {
  const log = yield* UsageLog
  for (let n = 1; n <= Number(process.argv[2]); n++) {
    log.record({
      time: "2026-11-21T00:00:00.000Z",
      request_id: `request-${n}`,
      key_id: null,
      source: null,
      surface: "chat",
      model: null,
      deployment: null,
      level: null,
      upstream_request_id: null,
      status: 403,
      outcome: "unauthenticated",
      stream: false,
      stream_end: null,
      tokens: null,
      bytes: { in: 0, out: 0 },
      counts: { tools: 0, images: 0, files: 0, flags: 0 },
      duration_ms: 1,
      first_event_ms: null,
      quota: null
    })
  }
})
// Log lines belong on standard error, where the gateway has them.
await Effect.runPromise(
  program.pipe(
    Effect.provide(UsageLog.layer("stdout")),
    Effect.provide(NodeFileSystem.layer),
    Effect.provide(Logger.layer([]))
  )
)
