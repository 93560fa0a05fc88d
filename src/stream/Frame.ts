/** The frames of a streamed reply, and how a surface makes them from the cloud's events. */
import { type Array as Arr, Data } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Tokens } from "../catalog/Tokens.ts"
import type { UpstreamFault } from "../catalog/UpstreamFault.ts"
import type { Governance } from "../contract/Governance.ts"
import type { CallPiece } from "../governance/accumulate.ts"
import type { Json } from "../wire/json.ts"
import type { Event, keepAlive } from "../wire/sse.ts"

/** One event in the surface's format, with its tool calls for governance. */
export interface Frame {
  /** Undefined where the format names no events. */
  readonly event?: string | undefined
  /** JSON text, or `[DONE]`. */
  readonly data: string
  /** The pieces of tool calls that it carries. */
  readonly calls?: ReadonlyArray<CallPiece> | undefined
  /** On the frame that ends a reply: what is sent in its place when calls were flagged. */
  readonly flagged?: ((governance: Governance) => Frames) | undefined
}
export type Frames = Arr.NonEmptyReadonlyArray<Frame>

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
  /** `complete`: the terminal event has been emitted, and nothing follows it. A fault ends the reply in-band. */
  end: "complete" | UpstreamFault | undefined
  /** Set where the reply is complete although the cloud goes on: its call is ended (`EndedEarly`). */
  early?: boolean
  /** Bytes of text, thinking and arguments of calls so far: about what the output was. */
  bytes: number
  /** The same of what came and was not emitted: kept for later, or cut off. */
  unsent?: number
  /** Memory that is held of the reply, in bytes, about, beside the calls that governance collects. */
  held?: number
}

/** Bytes of output, about: of a text, and of JSON as it is printed; what is absent has none. */
export const outputBytes = (value: Json | undefined): number =>
  value === undefined || value === null
    ? 0
    : Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value))

/** Ends the call to the cloud where the reply is complete and the cloud goes on. */
export class EndedEarly extends Data.TaggedError("EndedEarly") {}

/**
 * Makes a surface's frames from the cloud's events. Synchronous, with state, made anew for each stream. How the events are split into
 * arrays makes no difference.
 */
export interface Protocol {
  readonly progress: Progress
  readonly step: (events: ReadonlyArray<Event>) => ReadonlyArray<Frame>
  /** The cloud's stream has ended: the last frames. Without `progress.end` the stream was cut. */
  readonly onHalt: () => ReadonlyArray<Frame>
  /** The surface's in-band error, with the flags of the calls so far. */
  readonly inBand: (error: GatewayError, governance: Governance | undefined) => Frames
  /** The usage that the final event would have now; undefined where it would have none. */
  readonly usage?: () => object | undefined
  readonly summary: () => Summary
}
