/**
 * The client span of one upstream call, and its metrics (OpenTelemetry GenAI conventions). It ends at the call's last byte,
 * at its error, or when it is given up; what is learned later, such as the usage, is still on it.
 */
import { Cause, Clock, Effect, Exit, Option, References, type Scope } from "effect"
import { GatewayError } from "../model/GatewayError.ts"
import { callRecorder } from "./metrics.ts"

/** What a call is, from its start. */
export interface CallSpanOptions {
  /** `{gen_ai.operation.name} {gen_ai.request.model}` */
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
}

/** What is learned of a call after its head. */
export interface UpstreamSpan {
  readonly set: (attributes: Readonly<Record<string, unknown>>) => void
  readonly firstToken: () => void
  readonly fail: (error: GatewayError) => void
}

export interface CallSpan extends UpstreamSpan {
  /** A chunk of a streamed reply has come. */
  readonly chunk: () => void
  /** The last byte has come. */
  readonly received: () => void
  /** The call is given up. */
  readonly cancelled: () => void
}

/** A caller that left, a sibling call that failed, a ceiling of the whole request: no failure of the cloud. */
const cancelled = "cancelled"

/** The upstream's status where it had one, else our own code. */
const errorType = (error: GatewayError): string =>
  error.upstreamStatus === undefined ? (error.code ?? error.reason) : String(error.upstreamStatus)

const text = (value: unknown): string => (typeof value === "string" ? value : "")
const count = (value: unknown): number => (typeof value === "number" && value > 0 ? value : 0)

/**
 * Opens the span of a call; the scope ends it. Its metrics are recorded then, whether there is tracing or not; without it, no
 * span is built.
 */
export const openCallSpan = Effect.fnUntraced(function* ({
  name,
  attributes
}: CallSpanOptions): Effect.fn.Return<CallSpan, never, Scope.Scope> {
  const traced = yield* References.TracerEnabled
  const span = traced ? yield* Effect.makeSpan(name, { kind: "client", attributes }) : undefined
  const begun = (yield* Clock.Clock).currentTimeNanosUnsafe()
  const startedAt = performance.now()
  /** Milliseconds of the process's clock, as the span's. */
  const nanos = (at: number) => begun + BigInt(Math.round((at - startedAt) * 1e6))
  const streamed = attributes["gen_ai.request.stream"] === true
  const record = callRecorder({
    operation: text(attributes["gen_ai.operation.name"]),
    provider: text(attributes["gen_ai.provider.name"]),
    model: text(attributes["gen_ai.request.model"]),
    address: text(attributes["server.address"]),
    port: count(attributes["server.port"]),
    level: text(attributes["gateway.level"])
  })
  const known: Record<string, unknown> = {}
  let error: string | undefined
  let endedAt: number | undefined
  let chunkAt: number | undefined

  const end = (why?: string) => {
    if (why !== undefined) error ??= why
    endedAt ??= performance.now()
  }

  yield* Effect.addFinalizer((exit) => {
    if (endedAt === undefined && Exit.isFailure(exit)) {
      const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
      end(failure instanceof GatewayError ? errorType(failure) : cancelled)
    }
    const until = endedAt ?? performance.now()
    record.end((until - startedAt) / 1000, error, {
      input: count(known["gen_ai.usage.input_tokens"]),
      output: count(known["gen_ai.usage.output_tokens"]),
      cached: count(known["gen_ai.usage.cache_read.input_tokens"]),
      reasoning: count(known["gen_ai.usage.reasoning.output_tokens"])
    })
    if (span === undefined) return Effect.void
    if (error !== undefined) span.attribute("error.type", error)
    span.end(nanos(until), error === undefined ? Exit.void : error === cancelled ? Exit.interrupt() : Exit.fail(error))
    return Effect.void
  })

  return {
    set: (learned) => {
      for (const key in learned) {
        if (learned[key] === undefined) continue
        known[key] = learned[key]
        span?.attribute(key, learned[key])
      }
    },
    firstToken: () => span?.event("gen_ai.first_token", nanos(chunkAt ?? performance.now())),
    chunk: () => {
      if (!streamed) return
      const now = performance.now()
      if (chunkAt === undefined) {
        span?.attribute("gen_ai.response.time_to_first_chunk", (now - startedAt) / 1000)
        record.firstChunk((now - startedAt) / 1000)
      } else record.outputChunk((now - chunkAt) / 1000)
      chunkAt = now
    },
    received: () => end(),
    cancelled: () => end(cancelled),
    fail: (failure) => end(errorType(failure))
  }
})
