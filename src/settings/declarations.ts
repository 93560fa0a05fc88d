/** What the boundary rests on beside the partition table: addresses of the operator's own. The start and the health check name them. */
import { Option } from "effect"
import { formatBoundary } from "../catalog/Boundary.ts"
import type { Authorization } from "../catalog/Level.ts"
import { isVendorHost } from "../catalog/Partition.ts"
import type { CloudSettings } from "./clouds.ts"
import { hostOf, isLoopback } from "./fields.ts"

interface Address {
  /** The setting that names it. */
  readonly setting: string
  readonly url: string
  readonly boundary: Option.Option<Authorization>
  /** What replies call it: `bedrock/us-gov-west-1`. */
  readonly servedBy: string
}

const addressesOf = ({ vertex, bedrock, azure }: CloudSettings): ReadonlyArray<Address> =>
  [
    ...Option.toArray(vertex).map(
      ({ baseUrl, boundary, location }) => ["VERTEX_BASE_URL", baseUrl, boundary, `vertex/${location}`] as const
    ),
    ...Option.toArray(bedrock).map(
      ({ baseUrl, boundary, region }) => ["BEDROCK_BASE_URL", baseUrl, boundary, `bedrock/${region}`] as const
    ),
    ...Option.toArray(azure).map(
      ({ boundary, endpoint, region }) =>
        ["AZURE_OPENAI_ENDPOINT", Option.some(endpoint), boundary, `azure/${region}`] as const
    )
  ].flatMap(([setting, address, boundary, servedBy]) =>
    Option.toArray(address).map((url) => ({ setting, url, boundary, servedBy }))
  )

export interface Declaration extends Pick<Address, "setting" | "url"> {
  /** What may be served there, as the operator wrote it: `il5,itar`. */
  readonly serves: string
}

/** Loopback needs no declaration, and on a vendor's host the partition table decides. */
export const declarationsOf = (clouds: CloudSettings): ReadonlyArray<Declaration> =>
  addressesOf(clouds).flatMap(({ boundary, setting, url }) =>
    Option.isSome(boundary) && !isLoopback(hostOf(url)) && !isVendorHost(hostOf(url))
      ? [{ setting, url, serves: formatBoundary(boundary.value) }]
      : []
  )

/** Loopback stands for a cloud, and replies name that cloud. The sandbox's own are named as simulated. */
export const loopbacksOf = (clouds: CloudSettings): ReadonlyArray<Address> =>
  clouds.simulated ? [] : addressesOf(clouds).filter(({ url }) => isLoopback(hostOf(url)))
