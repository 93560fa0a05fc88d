/** Where the active clouds are reached, and what the boundary rests on beside the partition table: addresses of the operator's own. */
import { Option } from "effect"
import { type Cloud, cloudFacts } from "../catalog/clouds.ts"
import { type Authorization, formatBoundary } from "../catalog/Level.ts"
import { isVendorHost, type Site, type Sites } from "../catalog/Partition.ts"
import type { CloudSettings } from "./clouds.ts"
import { hostOf, isLoopback } from "./fields.ts"

export interface Address {
  readonly cloud: Cloud
  /** What replies call the place. */
  readonly region: string
  /** The setting that names an address of the operator's own. */
  readonly setting: string
  readonly url: string | undefined
  readonly declared: Authorization | undefined
  /** Where tokens are counted, if that is elsewhere. */
  readonly countPlace?: string | undefined
}

const site = (cloud: Cloud, region: string) => ({ cloud, region, setting: cloudFacts[cloud].address })

/** Of the active clouds. */
export const addressesOf = ({ vertex, bedrock, azure }: CloudSettings): ReadonlyArray<Address> => [
  ...Option.toArray(vertex).map(({ baseUrl, boundary, countLocation, location }) => ({
    ...site("vertex", location),
    url: Option.getOrUndefined(baseUrl),
    declared: Option.getOrUndefined(boundary),
    countPlace: Option.getOrUndefined(countLocation)
  })),
  ...Option.toArray(bedrock).map(({ baseUrl, boundary, region }) => ({
    ...site("bedrock", region),
    url: Option.getOrUndefined(baseUrl),
    declared: Option.getOrUndefined(boundary)
  })),
  ...Option.toArray(azure).map(({ boundary, endpoint, region }) => ({
    ...site("azure", region),
    url: endpoint,
    declared: Option.getOrUndefined(boundary)
  }))
]

/** For the partition table. */
export const sitesOf = (clouds: CloudSettings): Sites =>
  Object.fromEntries(
    addressesOf(clouds).map(({ cloud, countPlace, declared, region, url }): [Cloud, Site] => {
      const host = url === undefined ? undefined : hostOf(url)
      return [
        cloud,
        cloud === "azure" ? { place: host ?? "", declared } : { place: region, host, countPlace, declared }
      ]
    })
  )

interface OwnAddress {
  readonly setting: string
  readonly url: string
}

/** What the operator declared, as it was written (`il5,itar`). Loopback needs no declaration; vendors' hosts are the table's. */
export const declarationsOf = (clouds: CloudSettings): ReadonlyArray<OwnAddress & { readonly serves: string }> =>
  addressesOf(clouds).flatMap(({ declared, setting, url }) =>
    url === undefined || declared === undefined || isLoopback(hostOf(url)) || isVendorHost(hostOf(url))
      ? []
      : [{ setting, url, serves: formatBoundary(declared) }]
  )

/** Loopback stands for a cloud, and replies name that cloud: `bedrock/us-gov-west-1`. The sandbox's own are named as simulated. */
export const loopbacksOf = (clouds: CloudSettings): ReadonlyArray<OwnAddress & { readonly servedBy: string }> =>
  clouds.simulated
    ? []
    : addressesOf(clouds).flatMap(({ cloud, region, setting, url }) =>
        url !== undefined && isLoopback(hostOf(url)) ? [{ setting, url, servedBy: `${cloud}/${region}` }] : []
      )
