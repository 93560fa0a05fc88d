/**
 * Where a call goes: in which order the regions of a deployment are asked (docs/decisions.md#several-regions), which are not, and at
 * which address. Each key has one region that it is at home in, so that the cloud's prompt caches stay warm; one that has asked for
 * patience comes last until its time is over. Calls are kept from one that has been failing, and it is tried with one call every few
 * seconds.
 */
import { hash } from "node:crypto"
import { Cause, Clock, Effect, Exit, Metric, Option, Scope } from "effect"
import type { HttpClientResponse } from "effect/http"
import type { Deployment } from "../catalog/Catalog.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import { isHostOf } from "../catalog/Partition.ts"
import { gaugeOf } from "../telemetry/metrics.ts"
import { steadyMillisOf } from "../wire/steady.ts"
import type { CallKind, Cloud } from "./Provider.ts"

/** How long a region that said nothing is left alone, and the longest that one is, in seconds. */
const usualPatience = 5
const longestPatience = 60

/** Weighted rendezvous hashing: the least wins, as often as its weight says, and a region that goes moves only its own keys. */
const draw = (region: string, key: string, weight: number): number => {
  const bits = Number.parseInt(hash("sha256", `${region}\n${key}`, "hex").slice(0, 12), 16)
  return -Math.log((bits + 1) / (2 ** 48 + 1)) / weight
}

/** The deployment's regions, the key's own first. */
export const homeFirst = (
  regions: ReadonlyArray<string>,
  weights: Deployment["weights"],
  key: string
): ReadonlyArray<string> =>
  regions
    .map((region) => ({ region, at: draw(region, key, weights?.[region] ?? 1) }))
    .sort((a, b) => a.at - b.at)
    .map(({ region }) => region)

/** A deployment's regions by key, and what they said of their limits. In this process. */
export const makeRegions = (now: () => number = () => performance.now()) => {
  const waits = new WeakMap<Deployment, Map<string, number>>()

  return {
    /** All of the regions; the first is the one to ask. */
    order: (deployment: Deployment, regions: ReadonlyArray<string>, key: string): ReadonlyArray<string> => {
      if (regions.length < 2) return regions
      const order = homeFirst(regions, deployment.weights, key)
      const until = waits.get(deployment)
      if (until === undefined) return order
      const at = now()
      const left = (region: string) => Math.max(0, (until.get(region) ?? 0) - at)
      return order.some((region) => left(region) > 0) ? order.toSorted((a, b) => left(a) - left(b)) : order
    },
    /** A region is at its limit, for so many seconds if it has said so. */
    full: (deployment: Deployment, region: string, seconds: number | undefined): void => {
      const until = waits.get(deployment) ?? new Map<string, number>()
      waits.set(deployment, until.set(region, now() + Math.min(seconds ?? usualPatience, longestPatience) * 1000))
    }
  }
}

/** Where a call goes. */
export interface Target {
  readonly url: URL
  /** The host's name, and the port also where the scheme says it. */
  readonly address: string
  readonly port: number
  /** Cloud and region, whose calls share a circuit breaker. */
  readonly circuit: string
}

/**
 * Refuses an address that leads elsewhere than its parts say: another host than the operator's or the partition table's, or
 * another path. Settings and catalog are checked when they are read, so none should come this far.
 */
export const targetOf = (
  { endpoint: { baseUrl, host, path }, name }: Pick<Cloud, "endpoint" | "name">,
  kind: CallKind,
  region: string
): Target => {
  const asked = path(kind, region)
  const written = (baseUrl ?? host(region)) + asked
  const url = new URL(written)
  const rightHost =
    baseUrl !== undefined || (url.protocol === "https:" && url.port === "" && isHostOf(name, region, url.hostname))
  // An address that the parser would write otherwise is not what its parts say.
  if (!rightHost || !asked.startsWith("/") || url.href !== written || url.username !== "" || url.password !== "") {
    throw new Error(`${name}/${region}: an upstream address leads out of the boundary`)
  }
  return {
    url,
    address: url.hostname,
    port: Number(url.port) || (url.protocol === "https:" ? 443 : 80),
    circuit: `${name}/${region}`
  }
}

type Response = HttpClientResponse.HttpClientResponse
type State = "Closed" | "Open" | "HalfOpen"
type Outcome = "success" | "failure" | "ignored"

/** Failures in a row that open a circuit, and how long it then stays open, in milliseconds. */
const mostFailures = 10
const openFor = 5_000

const transitions = Metric.counter("gateway_breaker_transitions_total", {
  description: "Transitions of the circuit breakers, by cloud, region and new state",
  incremental: true
})
const open = Metric.gauge("gateway_breaker_open", {
  description: "1 while a circuit breaker keeps calls from a cloud's region, or tries it with one"
})

const note = (circuit: string, state: State): Effect.Effect<void> =>
  Effect.logWarning(`circuit ${circuit} is ${state.toLowerCase()}`).pipe(
    Effect.andThen(Metric.update(Metric.withAttributes(transitions, { circuit, state }), 1))
  )

const down: ReadonlySet<number> = new Set([502, 503])

/**
 * Only what says that the cloud cannot be reached or is down opens a circuit, which all callers share: neither refusals nor what
 * took too long (504), which one request may bring about.
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
const isOpen = refusal(openFor / 1000)
const isTried = refusal(1)

/** One cloud's region. A call that began in an earlier state changes nothing when it ends. */
const makeCircuit = (now: () => number) => {
  let state: State = "Closed"
  let failures = 0
  let openUntil = 0
  /** Whether a call is trying a circuit that was open. */
  let tried = false
  /** Another object in each state. */
  let era = {}
  const become = (next: State): State => {
    state = next
    era = {}
    failures = 0
    tried = false
    if (next === "Open") openUntil = now() + openFor
    return next
  }
  return {
    /** Why no call is let through. */
    refuse: () => {
      if (tried) return isTried
      return state === "Open" && now() < openUntil ? isOpen : undefined
    },
    /** A call begins: the new state, if there is one, and what to end the call with. */
    begin: () => {
      const changed = state === "Open" ? become("HalfOpen") : undefined
      tried = state === "HalfOpen"
      return { changed, of: era }
    },
    /** It has ended: the new state, if there is one. */
    end: (of: object, outcome: Outcome): State | undefined => {
      if (of !== era) return undefined
      tried = false
      if (outcome === "ignored") return undefined
      if (state === "HalfOpen") return become(outcome === "success" ? "Closed" : "Open")
      failures = outcome === "success" ? 0 : failures + 1
      return failures < mostFailures ? undefined : become("Open")
    }
  }
}

/** Made once. Calls of one circuit are let through or refused together. */
export const makeBreaker = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  const circuits = new Map<string, ReturnType<typeof makeCircuit>>()
  const circuitOf = Effect.fnUntraced(function* (key: string) {
    const known = circuits.get(key)
    if (known !== undefined) return known
    const circuit = makeCircuit(() => steadyMillisOf(clock))
    circuits.set(key, circuit)
    const read = () => (circuit.refuse() === undefined ? 0 : 1)
    yield* Scope.provide(gaugeOf(Metric.withAttributes(open, { circuit: key }), read), scope)
    return circuit
  })

  return <R>(key: string, call: Effect.Effect<Response, GatewayError, R>): Effect.Effect<Response, GatewayError, R> =>
    Effect.flatMap(circuitOf(key), (circuit) => {
      let begun: object | undefined
      const asked = Effect.suspend(() => {
        const refused = circuit.refuse()
        if (refused !== undefined) return Effect.fail(refused)
        const { changed, of } = circuit.begin()
        begun = of
        return changed === undefined ? call : Effect.andThen(note(key, changed), call)
      })
      return Effect.onExit(asked, (exit) => {
        const changed = begun === undefined ? undefined : circuit.end(begun, classify(exit))
        return changed === undefined ? Effect.void : note(key, changed)
      })
    })
})
