/** What is sent to the page. No payload, no secret, no address of a caller. */
import { Clock, Effect } from "effect"
import { type Activity, nameOf } from "./Activity.ts"
import { hourOf, joinCounts, joinDeployments } from "./join.ts"
import { makeReplicas, type ProcessState, processState } from "./processState.ts"
import { type CatalogDeployment, makeSetup } from "./setup.ts"
import { makeUse } from "./use.ts"

/** Those of the catalog in its order, then those that served and are not in it any more. */
const viewDeployments = (
  listed: ReadonlyArray<CatalogDeployment>,
  states: ReadonlyArray<ProcessState>,
  now: number
) => {
  const open = new Set(states.flatMap(({ openCircuits }) => openCircuits))
  const joined = joinDeployments(states)
  const names = new Set(listed.map(nameOf))
  const gone = [...joined.values()].filter((one) => !names.has(nameOf(one))).map((one) => ({ ...one, levels: [] }))
  return [...listed, ...gone].map(({ cloud, levels, model, region }) => {
    const { lastError, minutes = [] } = joined.get(nameOf({ cloud, model, region })) ?? {}
    // Open: calls are kept from the region, because it has been failing.
    return { cloud, region, model, levels, open: open.has(`${cloud}/${region}`), lastError, hour: hourOf(minutes, now) }
  })
}

/** Made with the server; each run reads the state of all processes. Times are in milliseconds since the epoch. */
export const makeView = (activity: Activity["Service"]) =>
  Effect.gen(function* () {
    const { deployments, setup } = yield* makeSetup
    const use = yield* makeUse
    const own = () => processState(activity, Date.now())
    const replicas = yield* makeReplicas(own)
    return Effect.gen(function* () {
      // This process's own post is older than its state.
      const states = [...new Map([...(yield* replicas), own()].map((state) => [state.instance, state])).values()]
      const now = yield* Clock.currentTimeMillis
      const sum = (of: (state: ProcessState) => number) => states.reduce((total, state) => total + of(state), 0)
      return {
        now,
        setup: yield* setup,
        processes: states
          .map(({ host, memory, pid, startedAt }) => ({ host, memory, pid, startedAt }))
          .sort((a, b) => a.host.localeCompare(b.host) || a.pid - b.pid),
        requestsInFlight: sum((state) => state.requestsInFlight),
        streamsInFlight: sum((state) => state.streamsInFlight),
        lostStores: [...new Set(states.flatMap(({ lostStores }) => lostStores))],
        deployments: viewDeployments(deployments(), states, now),
        use: yield* use,
        refusals: joinCounts(states.map(({ refusals }) => refusals)),
        flags: joinCounts(states.map(({ flags }) => flags))
      }
    })
  })
