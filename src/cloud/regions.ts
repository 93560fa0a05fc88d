/**
 * Where a call goes: the order in which the regions of a deployment are tried (docs/decisions.md#several-regions), and their addresses.
 * Each key has its own order, so that the cloud's prompt caches are used. A region at its limit comes last until the time that it named is
 * over.
 */
import { hash } from "node:crypto"
import type { Deployment } from "../catalog/Catalog.ts"
import { isHostOf } from "../catalog/Partition.ts"
import { portOf } from "../settings/fields.ts"
import type { CallKind, Cloud } from "./Provider.ts"

/** How long a region at its limit comes last: where it named no time, and at most; in seconds. */
const defaultWait = 5
const maxWait = 60

/** Weighted rendezvous hashing: the lowest score is first, as often as its weight says; a removed region moves only its own keys. */
const scoreOf = (region: string, key: string, weight: number): number => {
  const bits = Number.parseInt(hash("sha256", `${region}\n${key}`, "hex").slice(0, 12), 16)
  return -Math.log((bits + 1) / (2 ** 48 + 1)) / weight
}

/** Orders the regions of deployments, and remembers their limits, in this process. `now` is in milliseconds. */
export const makeRegions = (now: () => number = () => performance.now()) => {
  const waits = new WeakMap<Deployment, Map<string, number>>()

  return {
    /** All of the regions, in the order in which to try them: those at their limit last, and else in the order of the key. */
    order: (deployment: Deployment, regions: ReadonlyArray<string>, key: string): ReadonlyArray<string> => {
      if (regions.length < 2) return regions
      const until = waits.get(deployment)
      const at = now()
      return regions
        .map((region) => ({
          region,
          wait: Math.max(0, (until?.get(region) ?? 0) - at),
          score: scoreOf(region, key, deployment.weights?.[region] ?? 1)
        }))
        .sort((a, b) => a.wait - b.wait || a.score - b.score)
        .map(({ region }) => region)
    },
    /** The region is at its limit, for so many seconds where it named a time. */
    markLimited: (deployment: Deployment, region: string, seconds: number | undefined): void => {
      const until = waits.get(deployment) ?? new Map<string, number>()
      const named = now() + Math.min(seconds ?? defaultWait, maxWait) * 1000
      // A call that began before may end later, and name less or nothing.
      waits.set(deployment, until.set(region, Math.max(named, until.get(region) ?? 0)))
    }
  }
}

/**
 * The address of a call in a region. Throws where its host is neither the operator's nor in the partition table, or where the parser
 * reads another address than its parts are: settings and catalog are checked when they are read, so that is a defect.
 */
export const addressOf = (
  { endpoint: { baseUrl, host, path }, name }: Pick<Cloud, "endpoint" | "name">,
  kind: CallKind,
  region: string
) => {
  const ownPath = path(kind, region)
  const written = (baseUrl ?? host(region)) + ownPath
  const url = new URL(written)
  const rightHost =
    baseUrl !== undefined || (url.protocol === "https:" && url.port === "" && isHostOf(name, region, url.hostname))
  if (!rightHost || !ownPath.startsWith("/") || url.href !== written || url.username !== "" || url.password !== "") {
    throw new Error(`${name}/${region}: an upstream address leads out of the boundary`)
  }
  // The port also where the scheme says it. Calls of one circuit share a circuit breaker.
  return { url, host: url.hostname, port: portOf(url), circuit: `${name}/${region}` }
}
