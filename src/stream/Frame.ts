/** What a streamed reply is made of on its way to the caller, and how a surface makes it. */

import { Data } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Tokens } from "../catalog/Tokens.ts"
import type { UpstreamFault } from "../catalog/UpstreamFault.ts"
import type { Governance } from "../contract/Governance.ts"
import type { CallPiece } from "../governance/accumulate.ts"
import type { Json } from "../wire/json.ts"
import type { Event, keepAlive } from "../wire/sse.ts"

/** One event of the surface's own format, with what governance must know of it. */
export interface Frame {
  /** Undefined where the format names no events. */
  readonly event?: string | undefined
  /** JSON text, or a format's own last word (`[DONE]`). */
  readonly data: string
  /** The pieces of tool calls that it carries. */
  readonly calls?: ReadonlyArray<CallPiece> | undefined
  /** On the frame that ends a reply: what is sent in its place when calls were flagged. */
  readonly flagged?: ((governance: Governance) => ReadonlyArray<Frame>) | undefined
}

export type Item = Frame | typeof keepAlive

/** What is known of a reply, for its record and its span. */
export interface Summary {
  readonly tokens: Tokens | undefined
  readonly finishReason: string | undefined
  /** Whether a filter of the cloud's ended the answer. */
  readonly filtered?: boolean | undefined
  /** Set where a reply that was passed on whole says itself that it is no success. */
  readonly failure?: GatewayError | undefined
}

/** Whether a reply is over, and how much of it came. */
export interface Progress {
  /** `complete`: the terminal event has been said, and nothing is said after it. A fault ends the reply in-band. */
  end: "complete" | UpstreamFault | undefined
  /** Set where the reply is complete and the upstream is not: it is not waited for, and its call is ended. */
  early?: boolean
  /** Bytes of text, thinking and arguments of calls so far: about what the output was. */
  bytes: number
  /** Bytes of the reply, about, that came so far and were not said: kept for what comes later, or cut off. */
  kept?: number
}

/** Bytes of output, about: of a text, and of JSON as it is printed; what is absent has none. */
export const outputBytes = (value: Json | undefined): number =>
  value === undefined || value === null
    ? 0
    : Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value))

/** The reply is complete and the cloud is not: its call is ended. */
export class Enough extends Data.TaggedError("Enough") {}

/**
 * How one surface says a stream of upstream events: synchronous, with state of its own, and made anew for each stream. Where the events
 * are cut into arrays makes no difference.
 */
export interface Protocol {
  readonly progress: Progress
  readonly step: (events: ReadonlyArray<Event>) => ReadonlyArray<Frame>
  /** The upstream has ended: what is still to be said. Without an end the stream was then cut. */
  readonly onHalt: () => ReadonlyArray<Frame>
  /** The surface's own in-band error; flags of the calls so far are not lost with the stream. */
  readonly inBand: (error: GatewayError, governance: Governance | undefined) => ReadonlyArray<Frame>
  /** What the final event would say now of tokens; undefined where it says nothing of them. */
  readonly usage?: () => object | undefined
  readonly summary: () => Summary
}
