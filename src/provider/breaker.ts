/** Keeps calls from a cloud's region that has been failing, and tries it with one call every few seconds. */
import { Cause, Duration, Effect, Exit, Metric, Option, Scope } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { GatewayError } from "../model/GatewayError.ts"
import { steadily } from "../wire/steady.ts"
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

type Outcome = CircuitBreaker.Outcome["_tag"]

/**
 * Only what says that the cloud cannot be reached or is down opens a circuit, which all callers share: neither refusals nor what
 * took too long (504), which one request may bring about.
 */
const outcomeOf = <A extends Head>(exit: Exit.Exit<A, GatewayError>): Outcome => {
  if (Exit.isSuccess(exit)) {
    const { status } = exit.value
    return status === 504 ? "Ignored" : down.has(status) ? "Failure" : "Success"
  }
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  return error === undefined || error.reason !== "upstream" ? "Ignored" : "Failure"
}
const down: ReadonlySet<number> = new Set([502, 503])

const refusal = (error: CircuitBreaker.CircuitBreakerError) =>
  new GatewayError({
    reason: "upstream",
    message: "the cloud that serves this model has been failing; try again in a few seconds",
    code: "circuit-open",
    retryAfter: error.reason._tag === "CircuitOpen" ? 5 : 1
  })

/** What is known of a circuit without asking the store. */
interface Circuit {
  /** Calls have failed since the last one that did not, or it is not closed: the store counts. */
  counting: boolean
  closed: boolean
  /** Transitions so far. */
  changes: number
}

/** A call that the store has let through. */
interface Admission {
  readonly generation: number
  /** The circuit's transitions by then. */
  readonly at: number
}

/**
 * Effect's store of circuits, asked only while there is something to count: a success of a closed circuit without failures changes
 * nothing, and the library's `execute` takes 4 to 7 µs of every call (`npm run bench -- --replaced`). A call that was admitted is
 * recorded however it ends: an outcome that went missing would leave a half-open circuit waiting for it.
 */
export const makeBreaker = Effect.gen(function* () {
  const store = yield* CircuitBreaker.CircuitBreakerStore
  const scope = yield* Effect.scope
  const circuits = new Map<string, Circuit>()
  const circuitOf = (key: string): Circuit => {
    const circuit = circuits.get(key) ?? { counting: false, closed: true, changes: 0 }
    circuits.set(key, circuit)
    return circuit
  }

  const changed = (circuit: Circuit, transition: CircuitBreaker.Transition | undefined): Effect.Effect<void> => {
    if (transition === undefined) return Effect.void
    circuit.changes++
    circuit.closed = transition.to === "Closed"
    return note(transition)
  }

  const admit = (circuit: Circuit, key: string): Effect.Effect<Admission, CircuitBreaker.CircuitBreakerError> =>
    Effect.flatMap(Scope.provide(steadily(store.admit(key)), scope), ({ generation, transition }) =>
      Effect.map(changed(circuit, transition), () => ({ generation, at: circuit.changes }))
    )

  const record = (circuit: Circuit, key: string, outcome: Outcome, { at, generation }: Admission) =>
    Effect.flatMap(steadily(store.record({ key, generation, outcome, tripPolicy, openFor })), (transition) => {
      const stillClosed = circuit.closed && at === circuit.changes
      if (outcome === "Success" && (stillClosed || transition?.to === "Closed")) circuit.counting = false
      return changed(circuit, transition)
    }).pipe(Effect.ignore)

  const counted = <A extends Head>(circuit: Circuit, key: string, call: Effect.Effect<A, GatewayError>) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.mapError(admit(circuit, key), refusal), (admission) =>
        Effect.onExit(restore(call), (exit) => record(circuit, key, outcomeOf(exit), admission))
      )
    )

  /** To be asked when the call is about to be made. */
  return <A extends Head>(key: string, call: Effect.Effect<A, GatewayError>): Effect.Effect<A, GatewayError> => {
    const circuit = circuitOf(key)
    if (circuit.counting) return counted(circuit, key, call)
    const at = circuit.changes
    return Effect.onExitPrimitive(call, (exit) => {
      const outcome = outcomeOf(exit)
      // What began before the circuit opened says nothing of it now.
      if (outcome === "Ignored" || at !== circuit.changes) return undefined
      if (outcome === "Success" && !circuit.counting) return undefined
      circuit.counting = true
      return Effect.flatMap(admit(circuit, key), (admission) => record(circuit, key, outcome, admission)).pipe(
        Effect.ignore
      )
    })
  }
})
