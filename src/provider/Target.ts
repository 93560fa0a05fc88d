/** Where a call goes: an address that is made and taken apart once, not with every call. */
import type { Deployment } from "../model/Catalog.ts"
import type { Operation, Route } from "../model/Route.ts"

export interface Target {
  /** Scheme, host and port. */
  readonly origin: string
  /** Path and query. */
  readonly path: string
  /** The host's name, and the port also where the scheme says it. */
  readonly address: string
  readonly port: number
  readonly url: URL
}

const targetOf = (text: string): Target => {
  const url = new URL(text)
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    address: url.hostname,
    port: Number(url.port) || (url.protocol === "https:" ? 443 : 80),
    url
  }
}

/** The targets of a provider, by what is asked of which deployment. There are few: catalog, APIs and regions make them. */
export const makeTargets = (
  address: (route: Route, operation: Operation, stream: boolean, region: string) => string
) => {
  const known = new WeakMap<Deployment, Map<string, Target>>()
  return (route: Route, operation: Operation, stream: boolean, region: string): Target => {
    const own = known.get(route.deployment) ?? new Map<string, Target>()
    known.set(route.deployment, own)
    const name = `${operation} ${stream} ${region}`
    const target = own.get(name) ?? targetOf(address(route, operation, stream, region))
    own.set(name, target)
    return target
  }
}
