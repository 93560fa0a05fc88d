/** Requests to Claude as its clouds take them, and their parts. */
import { PNG } from "./support.ts"

export const SONNET = "claude-sonnet-4-5@20250929"
export const user = (content: unknown) => ({ role: "user", content })
export const bot = (content: unknown) => ({ role: "assistant", content })
export const body = (over: object = {}) => ({
  anthropic_version: "vertex-2023-10-16",
  max_tokens: 4000,
  messages: [user("Hello")],
  ...over
})
export const tools = [{ name: "look_up", description: "", input_schema: { type: "object", properties: {} } }]
export const thinking = { type: "enabled", budget_tokens: 1024 }
export const call = bot([{ type: "tool_use", id: "toolu_1", name: "look_up", input: {} }])
export const result = { type: "tool_result", tool_use_id: "toolu_1", content: "found" }
export const image = (media_type: string, data = PNG) =>
  user([{ type: "image", source: { type: "base64", media_type, data } }])
