/** What is sent to the page. No payload, no secret, no address of a caller. */
import { Clock, Effect } from "effect"
import type { ActivityLog, LastError } from "./Activity.ts"
import { type Hour, hourOf, joinCounts, joinDeployments, nameOf } from "./join.ts"
import { type ProcessState, processState } from "./processState.ts"
import { makeReplicas } from "./replicas.ts"
import { type CatalogDeployment, makeSetup, type Setup } from "./setup.ts"
import { makeSiblings } from "./siblings.ts"
import { makeUse, type Use } from "./use.ts"

export interface ViewDeployment {
  readonly cloud: string
  readonly region: string
  readonly model: string
  readonly levels: ReadonlyArray<string>
  /** Whether calls are kept from the region, because it has been failing. */
  readonly open: boolean
  readonly lastError?: LastError | undefined
  readonly hour: Hour
}

interface Count {
  readonly name: string
  readonly count: number
}

export interface View {
  /** Milliseconds since the epoch, as all times. */
  readonly now: number
  readonly setup: Setup
  readonly processes: ReadonlyArray<Pick<ProcessState, "host" | "memory" | "pid" | "startedAt">>
  readonly requestsInFlight: number
  readonly streamsInFlight: number
  readonly lostStores: ReadonlyArray<string>
  readonly deployments: ReadonlyArray<ViewDeployment>
  readonly use: ReadonlyArray<Use>
  readonly refusals: ReadonlyArray<Count>
  readonly flags: ReadonlyArray<Count>
}

/** Those of the catalog in its order, then those that served and are not in it any more. */
const viewDeployments = (
  listed: ReadonlyArray<CatalogDeployment>,
  states: ReadonlyArray<ProcessState>,
  now: number
): ReadonlyArray<ViewDeployment> => {
  const open = new Set(states.flatMap(({ openCircuits }) => openCircuits))
  const joined = joinDeployments(states)
  const names = new Set(listed.map(nameOf))
  const gone = [...joined.values()].filter((one) => !names.has(nameOf(one))).map((one) => ({ ...one, levels: [] }))
  return [...listed, ...gone].map(({ cloud, levels, model, region }) => {
    const own = joined.get(nameOf({ cloud, model, region }))
    return {
      cloud,
      region,
      model,
      levels,
      open: open.has(`${cloud}/${region}`),
      lastError: own?.lastError,
      hour: hourOf(own?.minutes ?? [], now)
    }
  })
}

/** Made with the server; each run looks anew, at all processes. */
export const makeView = (activity: ActivityLog) =>
  Effect.gen(function* () {
    const { deployments, setup } = yield* makeSetup
    const use = yield* makeUse
    const own = () => processState(activity, Date.now())
    const siblings = yield* makeSiblings(own)
    const replicas = yield* makeReplicas(own)
    return Effect.gen(function* () {
      const others = [...(yield* replicas), ...(yield* siblings)]
      const used = yield* use
      const inForce = yield* setup
      const now = yield* Clock.currentTimeMillis
      // Redis has a sibling's state too, but older: what the sibling itself said counts.
      const states = [...new Map([...others, own()].map((state) => [state.instance, state])).values()]
      const sum = (of: (state: ProcessState) => number) => states.reduce((total, state) => total + of(state), 0)
      const view: View = {
        now,
        setup: inForce,
        processes: states
          .map(({ host, memory, pid, startedAt }) => ({ host, memory, pid, startedAt }))
          .sort((a, b) => a.host.localeCompare(b.host) || a.pid - b.pid),
        requestsInFlight: sum((state) => state.requestsInFlight),
        streamsInFlight: sum((state) => state.streamsInFlight),
        lostStores: [...new Set(states.flatMap(({ lostStores }) => lostStores))],
        deployments: viewDeployments(deployments(), states, now),
        use: used,
        refusals: joinCounts(states.map(({ refusals }) => refusals)),
        flags: joinCounts(states.map(({ flags }) => flags))
      }
      return view
    })
  })
