/** The governance flag: an advisory that a model's tool call names an outbound destination (docs/api.md#governance-flag). */
import { Schema } from "effect"
import { said } from "./fields.ts"

export const GovernanceFlag = Schema.Struct({
  tool_call_id: said(Schema.String, "The ID of the call.", "call_1"),
  tool_name: said(Schema.String, "The tool that is called.", "fetch"),
  destinations: said(
    Schema.Array(Schema.String),
    "The URLs and IPv4 addresses in the arguments: each once, in order of appearance.",
    ["https://example.com/a"]
  ),
  reason: Schema.Literal("external_destination"),
  truncated: Schema.optionalKey(
    said(Schema.Literal(true), "There are more destinations than `destinations` lists; absent otherwise.")
  ),
  omitted: Schema.optionalKey(said(Schema.Int, "How many destinations are not listed.", 3))
}).annotate({ identifier: "GovernanceFlag", description: "A tool call that names an outbound destination." })

export const Governance = Schema.Struct({
  flags: said(Schema.Array(GovernanceFlag), "One flag for each such call.")
}).annotate({
  identifier: "Governance",
  description:
    "Tool calls that name an outbound destination. Advisory: the calls themselves are never changed. Absent where there are none."
})
export type Governance = typeof Governance.Type
