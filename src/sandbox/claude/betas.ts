/** Which betas Claude knows: on a platform, and for a model. */
import { invalid } from "../http.ts"
import type { ClaudeModel } from "../models.ts"

/** Where a request came in, and what came beside its body. */
export interface ClaudeContext {
  readonly platform: "vertex" | "bedrock"
  readonly model: ClaudeModel
  readonly betas: ReadonlyArray<string>
  readonly counting: boolean
}

/** Thinking between tool calls, with a budget that may be over the limit of the output. */
export const INTERLEAVED = "interleaved-thinking-2025-05-14"

const shared = [
  ...["compact-2026-01-12", "computer-use-2025-01-24", "computer-use-2025-11-24", "context-1m-2025-08-07"],
  ...["context-management-2025-06-27", "dangerous-tool-use-2026-09-03", "thinking-binding-controls-2026-08-01"],
  ...["tool-search-tool-2025-10-19", "thinking-display-updates-2026-08-18"]
]
const betas = {
  vertex: [...shared, "compact-2026-09-04", "per-turn-control-2026-07-01", "web-search-2025-03-05"],
  bedrock: [
    ...[...shared, "effort-2025-11-24", "fine-grained-tool-streaming-2025-05-14"],
    ...["mid-conversation-output-config-2026-07-01", "mid-conversation-tool-changes-2026-07-01"]
  ]
}

/** Refuses betas that the platform or the model does not know. */
export const checkBetas = ({ platform, model, betas: asked, counting }: ClaudeContext): void => {
  const unknown = asked.find((beta) =>
    beta === INTERLEAVED ? !model.interleaves : counting || !betas[platform].includes(beta)
  )
  if (unknown === undefined) return
  const words = `Unexpected value(s) \`${unknown}\` for the \`anthropic-beta\` header. Please consult our documentation.`
  throw invalid(platform === "bedrock" ? "invalid beta flag" : words)
}
