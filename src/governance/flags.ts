import type { Found } from "./found.ts"
import { type ScanMode, scanArguments, scanValue } from "./scan.ts"

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

/** The flag of a call whose arguments are JSON text, valid or not (chat-completions, responses). */
export const flagCall = (
  call: { readonly id: string; readonly name: string; readonly arguments: string },
  mode: ScanMode = "spec"
): Flag | undefined => flagOf(call.id, call.name, scanArguments(call.arguments, mode))

/** The flag of a call whose input is already parsed (messages). */
export const flagInput = (
  call: { readonly id: string; readonly name: string; readonly input: unknown },
  mode: ScanMode = "spec"
): Flag | undefined => flagOf(call.id, call.name, scanValue(call.input, mode))

/** What goes into `x_gateway_governance`, or `undefined` when the field must be absent. Calls without a flag are skipped. */
export const governanceOf = (flags: Iterable<Flag | undefined>): Governance | undefined => {
  const present = Array.from(flags).filter((flag) => flag !== undefined)
  return present.length === 0 ? undefined : { flags: present }
}
