/** The governance flag: an advisory that a model's tool call names an outbound destination (docs/api.md#governance-flag). */
import { Schema } from "effect"

export const GovernanceFlag = Schema.Struct({
  tool_call_id: Schema.String,
  tool_name: Schema.String,
  /** Unique, in order of appearance. */
  destinations: Schema.Array(Schema.String),
  reason: Schema.Literal("external_destination"),
  /** There were more destinations than are listed. */
  truncated: Schema.optionalKey(Schema.Literal(true)),
  /** How many are not listed. */
  omitted: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "GovernanceFlag" })

export const Governance = Schema.Struct({ flags: Schema.Array(GovernanceFlag) }).annotate({
  identifier: "Governance",
  description:
    "Tool calls that name an outbound destination. Advisory: the calls themselves are never altered. Absent when none does."
})
export type Governance = typeof Governance.Type
