/** Where a call goes: an address that is made and taken apart once, not with every call. */
import type { Cloud } from "../model/Catalog.ts"
import { isHostOf } from "../model/Partition.ts"
import type { Operation, Route } from "../model/Route.ts"
import { perKind } from "./kinds.ts"

export interface Target {
  /** Scheme, host and port. */
  readonly origin: string
  /** Path and query. */
  readonly path: string
  /** The host's name, and the port also where the scheme says it. */
  readonly address: string
  readonly port: number
  readonly url: URL
  /** Cloud and region, whose calls share a circuit breaker. */
  readonly circuit: string
}

/** Where a call goes, before it is an address. */
export interface Place {
  /** The region or location, which says what the cloud's own host is. */
  readonly region: string
  /** Scheme and host of the cloud, unless the operator has named another. */
  readonly origin: string
  /** Path and query. */
  readonly path: string
}

/**
 * Refuses an address that leads elsewhere than its parts say: another host than the operator's or the partition table's, or
 * another path. Settings and catalog are checked when they are read, so none should come this far.
 */
const targetOf = (cloud: Cloud, baseUrl: string | undefined, { region, origin, path }: Place): Target => {
  const base = new URL(baseUrl ?? origin)
  const url = new URL((baseUrl ?? origin) + path)
  const rightHost =
    baseUrl === undefined
      ? url.protocol === "https:" && url.port === "" && isHostOf(cloud, region, url.hostname)
      : url.origin === base.origin
  const written = base.pathname.replace(/\/$/, "") + path
  if (!rightHost || url.username !== "" || url.password !== "" || url.pathname + url.search !== written) {
    throw new Error(`${cloud}/${region}: an upstream address leads out of the boundary`)
  }
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    address: url.hostname,
    port: Number(url.port) || (url.protocol === "https:" ? 443 : 80),
    url,
    circuit: `${cloud}/${region}`
  }
}

export interface TargetsOptions {
  readonly cloud: Cloud
  /** The operator's own address, without a trailing slash. */
  readonly baseUrl: string | undefined
  readonly place: (route: Route, operation: Operation, stream: boolean, region: string) => Omit<Place, "region">
}

/**
 * The targets of a provider, by the kind of call and the region. Each is built, and its host checked, once.
 */
export const makeTargets = ({ cloud, baseUrl, place }: TargetsOptions) => {
  const ofKind = perKind(() => new Map<string, Target>())
  return (route: Route, operation: Operation, stream: boolean, region: string): Target => {
    const own = ofKind(route, operation, stream)
    const known = own.get(region)
    if (known !== undefined) return known
    const target = targetOf(cloud, baseUrl, { region, ...place(route, operation, stream, region) })
    own.set(region, target)
    return target
  }
}
