/** What tests of the chat surface ask the sandbox with. */
import { chat } from "./chat.ts"
import { post } from "./http.ts"
import { sharedGateway } from "./shared.ts"

/** Any model that takes everything. */
export const model = "claude-sonnet-4-5:il5"
/** A valid request for it, and its one message. */
export const base = chat(model)
export const user = { role: "user", content: "hi" }

/** A call of the function `f`, as a history has it. */
export const call = (id: string, args = "{}", name = "f") => ({
  id,
  type: "function",
  function: { name, arguments: args }
})

/** A gateway that the tests of a file share, and requests to its chat endpoint. */
export const sharedChat = () => {
  const gateway = sharedGateway()
  const create = (body: unknown, headers: Record<string, string> = {}) =>
    post(`${gateway.url}/v1/chat/completions`, body, headers)
  /** The last body that a cloud got. */
  const sent = () => JSON.parse(gateway.calls().at(-1)?.body ?? "null")
  return { gateway, create, sent }
}
