/** Keeps calls from a cloud's region that has been failing, and tries it with one call every few seconds. */
import { Cause, Clock, Effect, Exit, Metric, Option, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { GatewayError } from "../catalog/GatewayError.ts"
import { steadyClock } from "../wire/steady.ts"

const transitions = Metric.counter("gateway_breaker_transitions_total", {
  description: "Transitions of the circuit breakers, by cloud, region and new state",
  incremental: true
})
const open = Metric.gauge("gateway_breaker_open", {
  description: "1 while a circuit breaker keeps calls from a cloud's region, or tries it with one"
})

const note = ({ key, to }: CircuitBreaker.Transition): Effect.Effect<void> =>
  Effect.logWarning(`circuit ${key} is ${to.toLowerCase()}`).pipe(
    Effect.andThen(Metric.update(Metric.withAttributes(transitions, { circuit: key, state: to }), 1)),
    Effect.andThen(Metric.update(Metric.withAttributes(open, { circuit: key }), to === "Closed" ? 0 : 1))
  )

const down: ReadonlySet<number> = new Set([502, 503])

/**
 * Only what says that the cloud cannot be reached or is down opens a circuit, which all callers share: neither refusals nor what
 * took too long (504), which one request may bring about.
 */
const classify = (exit: Exit.Exit<HttpClientResponse.HttpClientResponse, GatewayError>): CircuitBreaker.Outcome => {
  if (Exit.isSuccess(exit)) {
    const { status } = exit.value
    if (status === 504) return CircuitBreaker.ignored
    return down.has(status) ? CircuitBreaker.failure() : CircuitBreaker.success
  }
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  return error?.reason === "upstream" ? CircuitBreaker.failure() : CircuitBreaker.ignored
}

const refusal = (error: CircuitBreaker.CircuitBreakerError) =>
  new GatewayError({
    reason: "upstream",
    message: "the cloud that serves this model has been failing; try again in a few seconds",
    code: "circuit-open",
    retryAfter: error.reason._tag === "CircuitOpen" ? 5 : 1
  })

export const makeBreaker = Effect.gen(function* () {
  const { admit, record, state } = yield* CircuitBreaker.CircuitBreakerStore
  const clock = yield* steadyClock
  const steadily = Effect.provideService(Clock.Clock, clock)
  const breaker = yield* Effect.provideService(
    CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(10), openDuration: "5 seconds" }),
    CircuitBreaker.CircuitBreakerStore,
    {
      admit: (key) => steadily(admit(key)),
      record: (outcome) => steadily(record(outcome)),
      state: (key) => steadily(state(key))
    }
  )
  yield* Effect.forkScoped(Stream.runForEach(breaker.transitions, note))
  return <R>(
    key: string,
    call: Effect.Effect<HttpClientResponse.HttpClientResponse, GatewayError, R>
  ): Effect.Effect<HttpClientResponse.HttpClientResponse, GatewayError, R> =>
    Effect.mapError(breaker.execute(call, { key, classify }), (error) =>
      error instanceof GatewayError ? error : refusal(error)
    )
})
