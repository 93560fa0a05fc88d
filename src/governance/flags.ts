import type { Slices } from "../wire/slices.ts"
import { type Found, makeCollector } from "./found.ts"
import { collectArguments, collectValue, type ScanMode } from "./scan.ts"

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

/** Its flag; undefined where it has none. */
export function* flagOfCall(call: Called, mode: ScanMode): Slices<Flag | undefined> {
  const collector = makeCollector()
  if ("arguments" in call) yield* collectArguments(call.arguments, mode, collector)
  else yield* collectValue(call.input, mode, collector)
  return flagOf(call.id, call.name, collector.found())
}

/** Flags of all calls of a whole reply. */
export function* governanceOfCalls(calls: ReadonlyArray<Called>, mode: ScanMode): Slices<Governance | undefined> {
  const flags: Array<Flag> = []
  for (const call of calls) {
    const flag = yield* flagOfCall(call, mode)
    if (flag !== undefined) flags.push(flag)
  }
  return governanceOf(flags)
}

/** What goes into `x_gateway_governance`, or `undefined` when the field must be absent. */
export const governanceOf = (flags: ReadonlyArray<Flag>): Governance | undefined =>
  flags.length === 0 ? undefined : { flags }
