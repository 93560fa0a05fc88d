/**
 * The partition table: which regions and endpoints may serve which levels (docs/decisions.md#model-ids-and-levels). It is
 * data and comes with the gateway. A catalog narrows it, by what its deployments are authorized for; nothing widens it.
 */
import { Schema } from "effect"
import type { Deployment } from "./Catalog.ts"
import { type Cloud, cloudFacts, clouds, fieldsByCloud } from "./clouds.ts"
import { Authorization, authorizedLevels, formatBoundary } from "./Level.ts"
import type { Level } from "./names.ts"
import shipped from "./partition.json" with { type: "json" }

/** Places that may serve the same. */
const Row = Schema.Struct({
  /** Regions, locations, or for Azure the endpoint's host. `*` stands for any letters, digits, `-` and `.`. */
  places: Schema.NonEmptyArray(Schema.String.check(Schema.isPattern(/^[a-z0-9.*-]+$/))),
  /** The cloud's own hosts there. */
  hosts: Schema.NonEmptyArray(Schema.NonEmptyString),
  /** Other hosts of the vendor's that lead there, for addresses of the operator's own: VPC endpoints, dual stack. */
  also: Schema.optionalKey(Schema.NonEmptyArray(Schema.NonEmptyString)),
  /** Bedrock: the partition in the ARNs of these regions, and the prefixes of inference profiles that stay in them. */
  arns: Schema.optionalKey(Schema.NonEmptyString),
  profiles: Schema.optionalKey(Schema.NonEmptyArray(Schema.NonEmptyString)),
  /** What the region is called where that is not the place itself. */
  label: Schema.optionalKey(Schema.NonEmptyString),
  /** The top of each ladder, and ITAR; empty: nothing is served there. */
  authorization: Authorization
})

const Partition = Schema.Struct({
  /** Domains of the vendors: their hosts are judged by the rows, whatever is declared of them. */
  vendors: Schema.NonEmptyArray(Schema.NonEmptyString),
  ...fieldsByCloud(Schema.Array(Row))
})

/** The table in force. A table that is malformed stops the program: there is no other. */
export const partition = Schema.decodeUnknownSync(Partition)(shipped, { onExcessProperty: "error" })

const regExpOf = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", "[a-z0-9.-]+").replace("{place}", "([a-z0-9-]+)")}$`)

/** The first row that holds the place. */
export const rowOf = (cloud: Cloud, place: string) =>
  partition[cloud].find(({ places }) => places.some((pattern) => regExpOf(pattern).test(place)))

export const placesOf = (cloud: Cloud): ReadonlyArray<string> => partition[cloud].flatMap(({ places }) => places)

export const isHostOf = (cloud: Cloud, place: string, host: string): boolean =>
  rowOf(cloud, place)?.hosts.some((template) => template.replaceAll("{place}", place) === host) === true

/** Whether a host, in small letters, is one of a vendor's. */
export const isVendorHost = (host: string): boolean =>
  partition.vendors.some((domain) => host === domain || host.endsWith(`.${domain}`))

/** The region or location that a vendor's host says; undefined where it says none of the table's. */
const placeOfHost = (cloud: Cloud, host: string): string | undefined => {
  for (const { hosts, also = [] } of partition[cloud]) {
    for (const template of [...hosts, ...also]) {
      const place = regExpOf(template).exec(host)?.[1]
      if (place !== undefined && rowOf(cloud, place) !== undefined) return place
    }
  }
  return undefined
}

/** What the table says of a vendor's host, in small letters: nothing may be served where it does not know the host. */
export const authorizationOfHost = (host: string): Authorization => {
  for (const cloud of clouds) {
    const row = rowOf(cloud, cloudFacts[cloud].hostIsPlace ? host : (placeOfHost(cloud, host) ?? ""))
    if (row !== undefined) return row.authorization
  }
  return {}
}

/** Where a cloud that is configured is reached. */
export interface Site {
  /** The region or location of the settings; for Azure the endpoint's host. */
  readonly place: string
  /** The host of an address of the operator's own; Azure's is its place. */
  readonly host?: string | undefined
  /** Where tokens are counted, if that is elsewhere. */
  readonly countPlace?: string | undefined
  /** What the operator declared of an address of their own. */
  readonly declared?: Authorization | undefined
}

export type Sites = { readonly [C in Cloud]?: Site | undefined }

/** The clouds in the places of the table that may serve the most, to show what a catalog holds. */
export const bestSites = (clouds: Iterable<Cloud>): Sites =>
  Object.fromEntries([...clouds].map((cloud): [Cloud, Site] => [cloud, { place: cloudFacts[cloud].bestPlace }]))

/** How inference profiles begin that serve from several regions: `us.`, `global.`, `us-gov.`; no vendor's name is so short. */
const profileOf = (segment: string): string | undefined =>
  /^(global|apac|emea|latam|[a-z]{2}(?:-[a-z]+)*)\./.exec(segment)?.[1]

/** Why a model ID of Bedrock is outside the table's regions, by the ARN's partition and region or by its inference profile; undefined where it is inside. */
export const outsidePartition = (model: string): string | undefined => {
  const segments = model.toLowerCase().split(/[:/]/)
  const [scheme, arns = "", , region = ""] = segments
  if (scheme === "arn" && rowOf("bedrock", region)?.arns !== arns) {
    const known = partition.bedrock.flatMap((row) =>
      row.arns === undefined ? [] : `arn:${row.arns}: in ${row.places.join(", ")}`
    )
    return `arn:${arns}: in ${region || "no region"} is not in the partition table, which has only ${known.join("; ")}`
  }
  const inside = partition.bedrock.flatMap(({ profiles = [] }) => profiles)
  const outside = segments.map(profileOf).find((profile) => profile !== undefined && !inside.includes(profile))
  return outside === undefined
    ? undefined
    : `${outside}. is an inference profile of regions outside the partition table, which has only ${inside.join("., ")}.`
}

/** Every place that a deployment would be served from. */
const placesServing = (deployment: Deployment, site: Site): ReadonlyArray<string> => {
  if (cloudFacts[deployment.cloud].hostIsPlace) return [site.place]
  // A Bedrock model that is named by its ARN is served by the ARN's region.
  const models = [deployment.model, deployment.countModel ?? ""]
  const named = models.map((model) => /^arn:[a-z-]+:[a-z-]+:([^:]*):/.exec(model)?.[1])
  const count = deployment.countModel === undefined ? undefined : site.countPlace
  return [...(deployment.regions ?? [site.place]), count, ...named].filter((place) => place !== undefined)
}

const only = (authorization: Authorization): string => {
  const tops = formatBoundary(authorization)
  return tops === "" ? "nothing" : `only ${tops}`
}

const covers = (authorization: Authorization, level: Level): boolean => authorizedLevels(authorization).includes(level)

/**
 * Why a deployment must not be served at this level from this site; undefined where it may. Every place that would serve it
 * has to be authorized, and so has the operator's own address. An Azure endpoint that is no vendor's host is what the
 * operator declares it to be; regions and locations are never. A vendor's host that stands for the cloud is the place that it says.
 */
export const forbids = (deployment: Deployment, level: Level, site: Site): string | undefined => {
  const { cloud } = deployment
  const { address, hostIsPlace, place: kind } = cloudFacts[cloud]
  const host = site.host !== undefined && isVendorHost(site.host) ? site.host : undefined
  const led = host === undefined ? undefined : placeOfHost(cloud, host)
  if (host !== undefined && led === undefined) {
    return `${address} leads to ${host}, which is not in the partition table and may serve nothing`
  }
  for (const place of placesServing(deployment, site)) {
    const row = rowOf(cloud, place)
    if (row === undefined && hostIsPlace && site.declared !== undefined && !isVendorHost(place)) continue
    if (row === undefined) return `${kind} ${place} is not in the partition table and may serve nothing`
    if (!covers(row.authorization, level)) {
      return `${kind} ${place} may serve ${only(row.authorization)}`
    }
    if (led !== undefined && led !== place) return `${address} leads to ${led} and not to ${place}`
  }
  if (site.declared !== undefined && !covers(site.declared, level)) {
    return `${address}_BOUNDARY declares ${only(site.declared)}`
  }
  return undefined
}
