/** What the operator declares of addresses that the partition table does not know; start and health check say it. */
import { Option } from "effect"
import { formatBoundary } from "../model/Boundary.ts"
import type { Authorization } from "../model/Level.ts"
import type { CloudSettings } from "./clouds.ts"
import { hostOf, isLoopback } from "./fields.ts"

export interface Declaration {
  /** The setting that names the address. */
  readonly setting: string
  readonly url: string
  /** What may be served there, as the operator wrote it: `il5,itar`. */
  readonly serves: string
}

type Own = readonly [url: Option.Option<string>, boundary: Option.Option<Authorization>]
const nothing: Own = [Option.none(), Option.none()]

/** Loopback needs no declaration, and a cloud's own address takes none. */
export const declarationsOf = ({ vertex, bedrock, azure }: CloudSettings): ReadonlyArray<Declaration> => {
  const addresses: Readonly<Record<string, Own>> = {
    VERTEX_BASE_URL: Option.match(vertex, { onNone: () => nothing, onSome: (own) => [own.baseUrl, own.boundary] }),
    BEDROCK_BASE_URL: Option.match(bedrock, { onNone: () => nothing, onSome: (own) => [own.baseUrl, own.boundary] }),
    AZURE_OPENAI_ENDPOINT: Option.match(azure, {
      onNone: () => nothing,
      onSome: (own) => [Option.some(own.endpoint), own.boundary]
    })
  }
  return Object.entries(addresses).flatMap(([setting, [url, boundary]]) =>
    Option.isSome(url) && Option.isSome(boundary) && !isLoopback(hostOf(url.value))
      ? [{ setting, url: url.value, serves: formatBoundary(boundary.value) }]
      : []
  )
}
