/** Which cloud, region and level a reply's text came from or went to (docs/decisions.md#proof-of-the-boundary). */
import type { Code, GatewayError } from "../model/GatewayError.ts"
import type { RequestFacts } from "../model/RequestFacts.ts"

/** Failures before anything of the request was sent. */
const unsent: ReadonlySet<Code | undefined> = new Set<Code>([
  "connect",
  "connect-timeout",
  "certificate",
  "credentials",
  "circuit-open"
])

/** Whether a request that failed so cannot have reached the cloud that it was for. */
export const isUnsent = ({ code, upstreamStatus }: GatewayError): boolean =>
  upstreamStatus === undefined && unsent.has(code)

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
