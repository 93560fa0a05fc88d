/** Networks by their CIDRs (RFC 4632): `10.0.0.0/8,fd00::/8,192.0.2.7`. */
import { BlockList, isIP } from "node:net"

const familyOf = (version: number) => (version === 4 ? "ipv4" : "ipv6")

/** One network, or the address of one host; undefined for anything else, and for all of the Internet. */
const parseNetwork = (text: string) => {
  const [address = "", prefix, ...more] = text.trim().split("/")
  const version = isIP(address)
  if (version === 0 || address.includes("%") || more.length > 0) return undefined
  const most = version === 4 ? 32 : 128
  const bits = prefix === undefined ? most : /^\d{1,3}$/.test(prefix) ? Number(prefix) : 0
  return bits < 1 || bits > most ? undefined : ([address, bits, familyOf(version)] as const)
}

export const isNetworkList = (text: string): boolean =>
  text.split(",").every((part) => parseNetwork(part) !== undefined)

/** Whether an address is in one of the networks of a list that `isNetworkList` takes. */
export const makeIsIn = (list: string): ((address: string) => boolean) => {
  const networks = new BlockList()
  for (const part of list.split(",")) {
    const network = parseNetwork(part)
    if (network !== undefined) networks.addSubnet(...network)
  }
  return (address) => {
    const version = isIP(address)
    return version !== 0 && networks.check(address, familyOf(version))
  }
}
