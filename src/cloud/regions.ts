/**
 * In which order the regions of a deployment are asked (docs/decisions.md#several-regions). Each key has one that it is at home in, so
 * that the cloud's prompt caches stay warm; one that has asked for patience comes last until its time is over.
 */
import { hash } from "node:crypto"
import type { Deployment } from "../catalog/Catalog.ts"

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
