import { type Called, type Flag, flagOfCall } from "../../src/governance/flags.ts"
import { atOnce } from "../../src/wire/slices.ts"

/** The flag of one call, scanned as the contract says. */
export const flagCall = (call: Called): Flag | undefined => atOnce(flagOfCall(call, "spec"))
