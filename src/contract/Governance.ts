/** The governance flag: an advisory that a model's tool call names an outbound destination (docs/api.md#governance-flag). */
import { Schema } from "effect"
import { described, int, named, string } from "./fields.ts"

export const GovernanceFlag = Schema.Struct({
  tool_call_id: string("The ID of the call.", "call_1"),
  tool_name: string("The tool that is called.", "fetch"),
  destinations: described(
    Schema.Array(Schema.String),
    "The URLs and IPv4 addresses in the arguments: each once, in order of appearance.",
    ["https://example.com/a"]
  ),
  reason: Schema.Literal("external_destination"),
  truncated: Schema.optionalKey(
    described(Schema.Literal(true), "There are more destinations than `destinations` lists; absent otherwise.")
  ),
  omitted: Schema.optionalKey(int("How many destinations are not listed.", 3))
}).annotate(named("GovernanceFlag", "A tool call that names an outbound destination."))
export type GovernanceFlag = typeof GovernanceFlag.Type

export const Governance = Schema.Struct({
  flags: described(Schema.Array(GovernanceFlag), "One flag for each such call.")
}).annotate(
  named(
    "Governance",
    "Tool calls that name an outbound destination. Advisory: the calls themselves are never changed. Absent where there are none."
  )
)
export type Governance = typeof Governance.Type

export const GuardAction = Schema.Struct({
  guard: string("The guard, as the operator calls it.", "personal-data"),
  action: described(
    Schema.Literals(["block", "flag", "redact"]),
    "What it did: it kept the reply back, only says so, or replaced parts of the text.",
    "redact"
  ),
  categories: described(Schema.Array(Schema.String), "What it found, in short words; never the text.", ["ssn"])
}).annotate(named("GuardAction", "What a guard of the operator's did."))
export type GuardAction = typeof GuardAction.Type

/** Absent where no guard did anything. */
export const guardActions = {
  x_gateway_guards: Schema.optionalKey(
    described(
      Schema.Array(GuardAction),
      "What guards of the operator's did with the texts of the request and of the reply; absent where they did nothing."
    )
  )
}

/** What replies that may call tools say beside the vendor's own fields. */
export const advisories = { x_gateway_governance: Schema.optionalKey(Governance), ...guardActions }
