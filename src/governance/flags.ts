/** What is flagged of a tool call. */
import { unitAt } from "./characters.ts"

/** One tool call that names outbound destinations (docs/api.md#governance-flag). */
export interface Flag {
  readonly tool_call_id: string
  readonly tool_name: string
  /** Unique, in order of appearance, never empty. */
  readonly destinations: ReadonlyArray<string>
  readonly reason: "external_destination"
  /** There were more destinations than are listed. */
  readonly truncated?: true
  /** How many are not listed. */
  readonly omitted?: number
}

/** The value of `x_gateway_governance`; absent when no call is flagged. */
export interface Governance {
  readonly flags: ReadonlyArray<Flag>
}

/** The flag for what was found in one call, or `undefined` when that is nothing. */
export const flagOf = (id: string, name: string, { destinations, omitted }: Found): Flag | undefined =>
  destinations.length === 0
    ? undefined
    : {
        tool_call_id: id,
        tool_name: name,
        destinations,
        reason: "external_destination",
        ...(omitted === 0 ? {} : { truncated: true, omitted })
      }

/** A call of a whole reply: its arguments as JSON text, valid or not, or its input, already parsed. */
export type Called = { readonly id: string; readonly name: string } & (
  | { readonly arguments: string }
  | { readonly input: unknown }
)

/** What goes into `x_gateway_governance`, or `undefined` when the field must be absent. */
export const governanceOf = (flags: ReadonlyArray<Flag>): Governance | undefined =>
  flags.length === 0 ? undefined : { flags }

/** Destinations reported for one tool call, at most. The first ones are kept. */
export const maxDestinations = 100
/** Destinations beyond those that are distinguished in the count; of still more, each occurrence counts. */
const maxCounted = 10_000
/** UTF-16 code units of one destination, at most; a longer one is cut between characters. */
export const maxDestinationLength = 2048

/** What a tool call names. */
export interface Found {
  /** Unique, in order of appearance. */
  readonly destinations: ReadonlyArray<string>
  /** How many more there were than are reported. */
  readonly omitted: number
}

/** Takes destinations in order of appearance, repeated or not, in bounded memory. Mutable, for one call. */
export interface Collector {
  readonly add: (destination: string) => void
  readonly found: () => Found
}

const cut = (destination: string): string => {
  if (destination.length <= maxDestinationLength) return destination
  const splitsPair =
    (unitAt(destination, maxDestinationLength - 1) & 0xfc00) === 0xd800 &&
    (unitAt(destination, maxDestinationLength) & 0xfc00) === 0xdc00
  return destination.slice(0, maxDestinationLength - (splitsPair ? 1 : 0))
}

export const makeCollector = (): Collector => {
  const kept = new Set<string>()
  const beyond = new Set<string>()
  let uncounted = 0
  return {
    add: (whole) => {
      const destination = cut(whole)
      if (kept.has(destination) || beyond.has(destination)) return
      if (kept.size < maxDestinations) kept.add(destination)
      else if (beyond.size < maxCounted) beyond.add(destination)
      else uncounted++
    },
    found: () => ({ destinations: [...kept], omitted: beyond.size + uncounted })
  }
}
