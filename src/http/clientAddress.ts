/**
 * The caller's address for records: that of the connection, or behind the operator's own proxies what they say
 * (docs/operation.md#usage-records). Each proxy appends the address that called it, so the list is read from the right, as far as the
 * proxies are trusted. The caller may have written the rest.
 */
import { isIP } from "node:net"
import { Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { makeIsIn } from "../settings/networks.ts"

/** An address without its zone, and an IPv4 address that is written as IPv6 as IPv4. */
export const plainAddress = (address: string): string =>
  address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "")

/** The address of a hop, which may have a port: IPv6 then has brackets. */
const hopOf = (text: string): string | undefined => {
  const hop = text.trim()
  const address = plainAddress(/^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop)
  return isIP(address) === 0 ? undefined : address
}

/** Most hops of `X-Forwarded-For` that are read. */
const maxHops = 32

/** `trusted`: the networks whose `X-Forwarded-For` is believed (`GATEWAY_TRUSTED_PROXIES`). */
export const makeSourceOf = (trusted: Option.Option<string>) => {
  const isTrusted = Option.isSome(trusted) ? makeIsIn(trusted.value) : undefined
  return ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest): string | undefined => {
    if (Option.isNone(remoteAddress)) return undefined
    let source = plainAddress(remoteAddress.value)
    const forwarded = headers["x-forwarded-for"]
    if (isTrusted === undefined || forwarded === undefined) return source
    const hops = forwarded.split(",")
    for (let at = hops.length - 1; at >= Math.max(0, hops.length - maxHops) && isTrusted(source); at--) {
      const hop = hopOf(hops[at] ?? "")
      if (hop === undefined) break
      source = hop
    }
    return source
  }
}
