/** What the boundary rests on beside the partition table: addresses of the operator's own. Start and health check say it. */
import { Option } from "effect"
import { formatBoundary } from "../model/Boundary.ts"
import type { Authorization } from "../model/Level.ts"
import { isVendorHost } from "../model/Partition.ts"
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

const addressesOf = ({ vertex, bedrock, azure }: CloudSettings): ReadonlyArray<Address> => [
  ...Option.toArray(vertex).flatMap(({ baseUrl, boundary, location }) =>
    Option.toArray(baseUrl).map((url) => ({
      setting: "VERTEX_BASE_URL",
      url,
      boundary,
      servedBy: `vertex/${location}`
    }))
  ),
  ...Option.toArray(bedrock).flatMap(({ baseUrl, boundary, region }) =>
    Option.toArray(baseUrl).map((url) => ({
      setting: "BEDROCK_BASE_URL",
      url,
      boundary,
      servedBy: `bedrock/${region}`
    }))
  ),
  ...Option.toArray(azure).map(({ boundary, endpoint, region }) => ({
    ...{ setting: "AZURE_OPENAI_ENDPOINT", url: endpoint, boundary, servedBy: `azure/${region}` }
  }))
]

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
