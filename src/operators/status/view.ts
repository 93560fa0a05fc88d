/**
 * What is sent to the page: the deployments and what is in force since when, and what keys and teams used. No payload, no secret,
 * no address of a caller.
 */
import { Array as Arr, Clock, Effect, Option } from "effect"
import { CatalogStore, catalogSource } from "../../catalog/CatalogStore.ts"
import type { Entry } from "../../catalog/Route.ts"
import type { Limits } from "../../contract/Security.ts"
import { service, version } from "../../contract/version.ts"
import { cryptoFacts } from "../../fips.ts"
import { readCertificates } from "../../identity/certificate.ts"
import { Keys } from "../../limits/Keys.ts"
import { millionths } from "../../limits/limits.ts"
import { Quota } from "../../limits/Quota.ts"
import type { Use } from "../../limits/usageTotals.ts"
import { Clouds, Settings } from "../../Settings.ts"
import { addressesOf, type CloudSettings } from "../../settings/clouds.ts"
import { steadyMillis } from "../../wire/steady.ts"
import { type Activity, nameOf } from "./Activity.ts"
import { hourOf, joinCounts, joinDeployments, makeReplicas, type ProcessState, processState } from "./processState.ts"

const makeSetup = Effect.gen(function* () {
  const settings = yield* Settings
  const { keysFile, redisUrl, tlsCert } = settings
  const { simulated: sandbox } = yield* Clouds
  const catalog = yield* CatalogStore
  const keys = yield* Keys
  const { fips } = cryptoFacts()

  /** Times are in milliseconds since the epoch. */
  return Effect.gen(function* () {
    const { keys: inForce, since } = keys.inForce()
    return {
      service,
      version,
      sandbox,
      fips,
      catalog: { source: catalogSource(settings), since: catalog.since(), ids: catalog.current().list.length },
      // One for the whole catalog; without prices nothing costs anything.
      currency: catalog.current().list.find(({ deployment }) => deployment.prices)?.deployment.prices?.currency,
      keys: { source: sandbox && inForce.length === 1 ? "sandbox" : keysFile, since, count: inForce.length },
      store: Option.isSome(redisUrl) ? "Redis" : "this machine",
      // Absent without TLS; null where the certificate cannot be read.
      tlsUntil: Option.isSome(tlsCert)
        ? yield* Effect.match(readCertificates(tlsCert.value), {
            onFailure: () => null,
            onSuccess: (chain) => Math.min(...chain.map(({ validToDate }) => validToDate.getTime()))
          })
        : undefined
    }
  })
})

/** In the catalog's order. */
const deploymentsOf = (list: ReadonlyArray<Entry>, clouds: CloudSettings) => {
  const regions = new Map(addressesOf(clouds).map(({ cloud, region }) => [cloud, region]))
  const entries = list.flatMap(({ deployment: { cloud, regions: own }, level, model }) =>
    (own ?? [regions.get(cloud) ?? ""]).map((region) => ({ cloud, region, model: model.id, level }))
  )
  return Object.values(Arr.groupBy(entries, nameOf)).map((same) => ({
    ...same[0],
    levels: same.map(({ level }): string => level)
  }))
}

/** More than a person reads. */
const maxRows = 200
/** Milliseconds between two reads of the store. */
const every = 10_000

const rowOf = (
  kind: "key" | "team",
  id: string,
  { monthlyCost, monthlyTokens, name }: Limits & { readonly name: string },
  use: Use | undefined
) => {
  const cost = use === undefined ? 0 : use.monthlyCost / millionths
  return {
    kind,
    id,
    name,
    /** Null while the store cannot be read. */
    used: use?.monthlyTokens ?? null,
    limit: monthlyTokens,
    /** In whole units of the catalog's currency; absent where nothing was charged and nothing is limited. */
    cost: use === undefined || (cost === 0 && monthlyCost === undefined) ? undefined : cost,
    costLimit: monthlyCost
  }
}
export type UseRow = ReturnType<typeof rowOf>

/** The part of the limit that is nearest to its end; without a limit, less than any. */
const share = ({ cost = 0, costLimit, limit, used }: UseRow): number =>
  Math.max(
    limit === undefined ? -1 : (used ?? 0) / limit,
    costLimit === undefined ? -1 : cost / Math.max(costLimit, 1e-6)
  )

/**
 * Keys and teams that have used something or have a monthly limit: the nearest to its end first, then by use. The store is read
 * every ten seconds at most.
 */
export const makeUse = Effect.gen(function* () {
  const keys = yield* Keys
  const quota = yield* Quota
  let rows: ReadonlyArray<UseRow> = []
  let readAt = Number.NEGATIVE_INFINITY
  return Effect.gen(function* () {
    const now = yield* steadyMillis
    if (now - readAt < every) return rows
    readAt = now
    const book = keys.inForce()
    const totals = Option.getOrUndefined(yield* Effect.option(quota.usageTotals(book)))
    rows = [
      ...book.teams.map((team, n) => rowOf("team", team.name, team, totals?.teams[n])),
      ...book.keys.map((key, n) => rowOf("key", key.id, key, totals?.keys[n]))
    ]
      .filter(({ costLimit, limit, used }) => (used ?? 0) > 0 || limit !== undefined || costLimit !== undefined)
      .sort((a, b) => share(b) - share(a) || (b.used ?? 0) - (a.used ?? 0))
      .slice(0, maxRows)
    return rows
  })
})

/** Those of the catalog in its order, then those that served and are not in it any more. */
const viewDeployments = (
  listed: ReturnType<typeof deploymentsOf>,
  states: ReadonlyArray<ProcessState>,
  now: number
) => {
  const open = new Set(states.flatMap(({ openCircuits }) => openCircuits))
  const joined = joinDeployments(states)
  const names = new Set(listed.map(nameOf))
  const gone = Object.values(joined).flatMap((one) => (names.has(nameOf(one)) ? [] : [{ ...one, levels: [] }]))
  return [...listed, ...gone].map(({ cloud, levels, model, region }) => {
    const { lastError, minutes = [] } = joined[nameOf({ cloud, model, region })] ?? {}
    // Open: calls are kept from the region, because it has been failing.
    return { cloud, region, model, levels, open: open.has(`${cloud}/${region}`), lastError, hour: hourOf(minutes, now) }
  })
}

/** Made with the server; each run reads the state of all processes. Times are in milliseconds since the epoch. */
export const makeView = Effect.fnUntraced(function* (activity: Activity["Service"]) {
  const catalog = yield* CatalogStore
  const clouds = yield* Clouds
  const setup = yield* makeSetup
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
      refusedFiles: [...new Set(states.flatMap(({ refusedFiles }) => refusedFiles))],
      deployments: viewDeployments(deploymentsOf(catalog.current().list, clouds), states, now),
      use: yield* use,
      refusals: joinCounts(states.map(({ refusals }) => refusals)),
      flags: joinCounts(states.map(({ flags }) => flags))
    }
  })
})
