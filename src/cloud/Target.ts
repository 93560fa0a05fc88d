/** Where a call goes. */
import { isHostOf } from "../catalog/Partition.ts"
import type { CallKind, Cloud } from "./Cloud.ts"

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
