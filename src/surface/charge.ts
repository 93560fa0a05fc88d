/** What a request is charged: what the cloud counted, or about what it cost the cloud (docs/decisions.md#limits-and-quotas). */
import { bytesPerToken } from "../access/Quota.ts"
import type { Outcome } from "../model/Outcome.ts"
import { costOf } from "../model/prices.ts"
import type { RequestFacts } from "../model/RequestFacts.ts"
import type { Tokens } from "../model/Tokens.ts"

/** What is known of a request that is over. */
interface Chargeable
  extends Pick<RequestFacts, "bytesOut" | "events" | "outcome" | "route" | "status" | "streamEnd" | "tokens"> {
  /** About how many tokens the input is; undefined where nothing is charged. */
  readonly inputEstimate: number | undefined
  readonly call: { readonly sent: boolean } | undefined
  /** The reply was complete before the cloud had counted it. */
  readonly early: boolean
}

/** The caller gave up what the cloud was at, or the gateway did. */
const abandoned: ReadonlySet<Outcome> = new Set(["cancelled", "timeout", "idle", "drained", "revoked"])

/**
 * Undefined where nothing is charged: nothing was sent, the cloud refused or failed before it said anything, or the endpoint is
 * free. An event of a stream is about a token.
 */
export const chargedTokens = (observation: Chargeable): Tokens | undefined => {
  const { bytesOut, call, early, events, inputEstimate, outcome, status, streamEnd, tokens } = observation
  if (inputEstimate === undefined || call?.sent !== true) return tokens
  const ended = outcome === undefined && status > 0 && (streamEnd === undefined || streamEnd === "complete")
  if (ended && !early && tokens !== undefined) return tokens
  const output = Math.max(tokens?.output ?? 0, events)
  if (ended && early) return { ...tokens, input: tokens?.input ?? inputEstimate, output }
  if (ended) return { input: inputEstimate, output: Math.max(output, Math.ceil(bytesOut / bytesPerToken)) }
  if (streamEnd === "cancelled" || outcome === undefined || abandoned.has(outcome)) {
    return { ...tokens, input: Math.max(tokens?.input ?? 0, inputEstimate), output }
  }
  return events === 0 ? tokens : { ...tokens, input: tokens?.input ?? inputEstimate, output }
}

/** The same in millionths of the currency; undefined where nothing is charged or there are no prices. */
export const chargedCost = ({ route }: Chargeable, tokens: Tokens | undefined): number | undefined => {
  const prices = route?.deployment.prices
  return prices === undefined || tokens === undefined ? undefined : costOf(prices, tokens)
}
