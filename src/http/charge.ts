/** What a request is charged: what the cloud counted, or about what it cost the cloud (docs/decisions.md#limits-and-quotas). */

import type { Outcome } from "../catalog/Outcome.ts"
import type { RequestFacts } from "../catalog/RequestFacts.ts"
import { costOf, estimateOf, isCount, type Tokens } from "../catalog/Tokens.ts"

/** What is known of a request that is over. */
interface Chargeable
  extends Pick<
    RequestFacts,
    "events" | "outcome" | "route" | "status" | "stream" | "streamEnd" | "surface" | "tokens"
  > {
  /** About how many tokens the input is; undefined where nothing is charged. */
  readonly inputEstimate: number | undefined
  /** Whether a cloud may have worked on the request. */
  readonly sent: boolean
  /** Whether a stream came to the cloud's own end, with its counts. */
  readonly counted: boolean
  /** Bytes that the cloud has said: of whole replies as they came, of a stream its text, thinking and arguments of calls. */
  readonly received: number
}

/** The caller gave up what the cloud was at, or the gateway did. */
const abandoned: ReadonlySet<Outcome> = new Set(["cancelled", "timeout", "idle", "drained", "revoked"])

/**
 * Undefined where nothing is charged: nothing was sent, the cloud refused or failed before it said anything, or the endpoint is
 * free. Where the cloud's count is missing, what it said is charged: the estimate that its caller got, where there was one.
 */
export const chargedTokens = (record: Chargeable): Tokens | undefined => {
  const { counted, events, inputEstimate, outcome, sent, status, stream, streamEnd, surface, tokens } = record
  if (inputEstimate === undefined || !sent) return tokens
  // A vector is no output.
  const bytes = surface === "embeddings" ? 0 : record.received
  const ended = outcome === undefined && status > 0 && (streamEnd === undefined || streamEnd === "complete")
  const gaveUp = !ended && (streamEnd === "cancelled" || outcome === undefined || abandoned.has(outcome))
  const received = { bytes, events, inputEstimate, stream }
  if (tokens?.estimated === true) return tokens
  if (tokens !== undefined && (stream ? counted : !gaveUp) && isCount(tokens, received)) return tokens
  // Also where a stream's first event is a failure.
  if (!ended && !gaveUp && bytes === 0 && (events === 0 || status !== 200)) return tokens
  return estimateOf(tokens, received)
}

/** The same in millionths of the currency; undefined where nothing is charged or there are no prices. */
export const chargedCost = ({ route }: Chargeable, tokens: Tokens | undefined): number | undefined => {
  const prices = route?.deployment.prices
  return prices === undefined || tokens === undefined ? undefined : costOf(prices, tokens)
}
