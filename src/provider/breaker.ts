/** Keeps calls from a cloud's region that has been failing, and tries it with one call every few seconds. */
import { Cause, Duration, Effect, Exit, Metric, Option, Scope } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { GatewayError } from "../model/GatewayError.ts"
import type { Head } from "./dispatch.ts"

const transitions = Metric.counter("gateway_breaker_transitions_total", {
  description: "Transitions of the circuit breakers, by cloud, region and new state",
  incremental: true
})
const open = Metric.gauge("gateway_breaker_open", {
  description: "1 while a circuit breaker keeps calls from a cloud's region, or tries it with one"
})

const tripPolicy = CircuitBreaker.consecutive(10)
const openFor = Duration.seconds(5)

const note = (transition: CircuitBreaker.Transition | undefined): Effect.Effect<void> => {
  if (transition === undefined) return Effect.void
  const { key, to } = transition
  return Effect.logWarning(`circuit ${key} is ${to.toLowerCase()}`).pipe(
    Effect.andThen(Metric.update(Metric.withAttributes(transitions, { circuit: key, state: to }), 1)),
    Effect.andThen(Metric.update(Metric.withAttributes(open, { circuit: key }), to === "Closed" ? 0 : 1))
  )
}

/** Only what says that the cloud cannot be reached or is down opens a circuit; refusals do not. */
const outcomeOf = <A extends Head>(exit: Exit.Exit<A, GatewayError>): CircuitBreaker.Outcome["_tag"] => {
  if (Exit.isSuccess(exit)) return down.has(exit.value.status) ? "Failure" : "Success"
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  return error === undefined || error.reason !== "upstream" ? "Ignored" : "Failure"
}
const down: ReadonlySet<number> = new Set([502, 503, 504])

const refusal = (error: CircuitBreaker.CircuitBreakerError) =>
  new GatewayError({
    reason: "upstream",
    message: "the cloud that serves this model has been failing; try again in a few seconds",
    code: "circuit-open",
    retryAfter: error.reason._tag === "CircuitOpen" ? 5 : 1
  })

/**
 * The library's store without its `execute`, which takes 4 to 7 µs of every call where this takes 2 to 4
 * (`npm run bench -- --replaced`). A call that was admitted is recorded however it ends: an outcome that went missing would leave a half-open circuit waiting for it.
 */
export const makeBreaker = Effect.gen(function* () {
  const store = yield* CircuitBreaker.CircuitBreakerStore
  const scope = yield* Effect.scope
  return <A extends Head>(key: string, call: Effect.Effect<A, GatewayError>): Effect.Effect<A, GatewayError> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.mapError(Scope.provide(store.admit(key), scope), refusal), ({ generation, transition }) =>
        Effect.andThen(
          note(transition),
          Effect.onExit(restore(call), (exit) =>
            store
              .record({ key, generation, outcome: outcomeOf(exit), tripPolicy, openFor })
              .pipe(Effect.flatMap(note), Effect.ignore)
          )
        )
      )
    )
})
