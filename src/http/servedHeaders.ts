/** Which cloud, region and level a reply's text came from or went to (docs/decisions.md#proof-of-the-boundary). */
import type { RequestFacts } from "../catalog/RequestFacts.ts"

/** The headers that say so; none where no cloud was asked. */
export const servedHeaders = ({
  cloud,
  region,
  route
}: Pick<RequestFacts, "cloud" | "region" | "route">): Readonly<Record<string, string>> =>
  cloud === undefined || region === undefined || route === undefined
    ? {}
    : {
        "x-gateway-served-model": route.model.id,
        "x-gateway-served-by": `${cloud}/${region}`,
        "x-gateway-served-level": route.level
      }
