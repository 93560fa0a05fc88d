/** Circuit breakers: a cloud's region that keeps failing gets no calls but one every few seconds. */
import { Cause, Clock, Effect, Exit, Metric, Option, Scope } from "effect"
import type { HttpClientResponse } from "effect/http"
import { GatewayError } from "../catalog/GatewayError.ts"
import { gaugeOf } from "../telemetry/metrics.ts"

type Response = HttpClientResponse.HttpClientResponse
type State = "Closed" | "Open" | "HalfOpen"
type Outcome = "success" | "failure" | "ignored"

/** Failures in a row that open a circuit, and the time until a call tries it, and until the next call does, in seconds. */
const maxFailures = 10
const openSeconds = 5

const transitions = Metric.counter("gateway_breaker_transitions_total", {
  description: "Transitions of the circuit breakers, by cloud, region and new state",
  incremental: true
})
const open = Metric.gauge("gateway_breaker_open", {
  description: "1 while a circuit breaker keeps calls from a cloud's region, or tries it with one"
})

const reportState = (circuit: string, state: State): Effect.Effect<void> =>
  Effect.logWarning(`circuit ${circuit} is ${state.toLowerCase()}`).pipe(
    Effect.andThen(Metric.update(Metric.withAttributes(transitions, { circuit, state }), 1))
  )

const down: ReadonlySet<number> = new Set([502, 503])

/**
 * All callers share a circuit, so only failures that no single request can cause open it: the cloud cannot be reached, or answers 502 or
 * 503. Refusals and 504 do not.
 */
const classify = (exit: Exit.Exit<Response, GatewayError>): Outcome => {
  if (Exit.isSuccess(exit)) {
    const { status } = exit.value
    if (status === 504) return "ignored"
    return down.has(status) ? "failure" : "success"
  }
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  return error?.reason === "upstream" ? "failure" : "ignored"
}

const refusal = (retryAfter: number) =>
  new GatewayError({
    reason: "upstream",
    message: "the cloud that serves this model has been failing; try again in a few seconds",
    code: "circuit-open",
    retryAfter
  })
const openError = refusal(openSeconds)
const probingError = refusal(1)

/** The circuit breaker of a cloud's region. A call that began in an earlier state changes nothing when it ends. */
const makeCircuit = (name: string, clock: Clock.Clock) => {
  let state: State = "Closed"
  let failures = 0
  /** When the next call may try a circuit that is not closed. The one that tries it may take minutes. */
  let nextAt = 0n
  const now = () => clock.monotonicTimeNanosUnsafe()
  const wait = (seconds: number) => {
    nextAt = now() + BigInt(seconds * 1e9)
  }
  /** A new object with each change of state. */
  let generation = {}
  const enter = (next: State): Effect.Effect<void> => {
    state = next
    generation = {}
    failures = 0
    if (next === "Open") wait(openSeconds)
    return reportState(name, next)
  }
  /** Why no call may be made; undefined where one may. */
  const refuse = () => {
    if (state === "Closed" || now() >= nextAt) return undefined
    return state === "Open" ? openError : probingError
  }
  return {
    refuse,
    /** A call begins, unless it is refused. Returns what to pass to `end`. */
    begin: Effect.suspend((): Effect.Effect<object, GatewayError> => {
      const refused = refuse()
      if (refused !== undefined) return Effect.fail(refused)
      const entered = state === "Open" ? enter("HalfOpen") : Effect.void
      if (state === "HalfOpen") wait(openSeconds)
      return Effect.as(entered, generation)
    }),
    end: (begun: object, outcome: Outcome): Effect.Effect<void> => {
      if (begun !== generation) return Effect.void
      if (outcome === "ignored") return Effect.sync(() => wait(0))
      if (state === "HalfOpen") return enter(outcome === "success" ? "Closed" : "Open")
      failures = outcome === "success" ? 0 : failures + 1
      return failures < maxFailures ? Effect.void : enter("Open")
    }
  }
}

/** Makes a call unless its circuit is open. Made once. */
export const makeBreaker = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  const circuits = new Map<string, ReturnType<typeof makeCircuit>>()
  const circuitOf = Effect.fnUntraced(function* (name: string) {
    const known = circuits.get(name)
    if (known !== undefined) return known
    const circuit = makeCircuit(name, clock)
    circuits.set(name, circuit)
    const read = () => (circuit.refuse() === undefined ? 0 : 1)
    yield* Scope.provide(gaugeOf(Metric.withAttributes(open, { circuit: name }), read), scope)
    return circuit
  })

  return <R>(name: string, call: Effect.Effect<Response, GatewayError, R>): Effect.Effect<Response, GatewayError, R> =>
    Effect.flatMap(circuitOf(name), ({ begin, end }) =>
      Effect.acquireUseRelease(
        begin,
        () => call,
        (begun, exit) => end(begun, classify(exit))
      )
    )
})
