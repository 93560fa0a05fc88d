/** What `chat` prints, as text: pure, so that it can be read in tests as in a terminal. */
import { styleText } from "node:util"
import { ApiError, type Completion, type GatewayHeaders, StreamError, usageNotice } from "../../EffectClient.ts"
import { objectOf } from "../../wire/json.ts"

/** What is about an answer. Nothing is coloured off a terminal. */
export const dim = (text: string): string => styleText("dim", text)
/** What needs attention. */
export const bold = (text: string): string => styleText("bold", text)

/** A model's text without the control characters that a terminal would obey. */
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")

export const greeting = (model: string, url: string, notice: string = usageNotice): string =>
  `${bold("Usage notice.")} ${printable(notice)}\n${dim(`${model} at ${url}. /help lists the commands; an empty line or Ctrl-D ends the chat.`)}\n`

const finishes: Readonly<Record<string, string>> = {
  length: "The answer stopped at its token limit.",
  content_filter: "The model's safety system ended the answer.",
  tool_calls: "The model wants to call a tool, and this conversation has none."
}

/** Below an answer: who served it and what it took, then what needs attention. */
export const footer = (answer: Completion | undefined, headers: GatewayHeaders): string => {
  const { choices: [choice] = [], usage, x_gateway_governance: governance } = answer ?? {}
  const { requestId, servedBy, servedLevel } = headers
  const served = [servedBy, servedLevel].filter((part) => part !== undefined).join(" at ")
  const about = [
    served && `served by ${served}`,
    usage?.total_tokens && `${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out`,
    requestId && `request ${requestId}`
  ].filter(Boolean)
  const attention = [
    finishes[choice?.finish_reason ?? ""] ?? [],
    ...(governance?.flags ?? []).map(
      ({ tool_name, destinations }) => `Flagged: the call of ${tool_name} names ${destinations.join(", ")}.`
    )
  ].flat()
  return [dim(about.join(" · ")), ...attention.map((line) => bold(printable(line)))].join("\n")
}

/** What to do after a refusal. */
const nextStep = ({ status, type, retryAfter }: ApiError): string => {
  if (type === "authentication_error") return "Give a key with --key, or set GATEWAY_API_KEY."
  if (type === "permission_error") return "Choose a model that the key allows, or ask the operator."
  if (status === 429) return retryAfter === undefined ? "Try again later." : `Try again in ${retryAfter} s.`
  return status >= 500
    ? "Try again; if it stays, give the operator the request's ID."
    : "Change the request and ask again."
}

const isUnreachable = (error: unknown): boolean => objectOf(objectOf(error).reason)._tag === "TransportError"

/** What went wrong, and what to do next. */
export const explainFailure = (error: unknown, url: string): string => {
  const [message, next, id] =
    error instanceof ApiError
      ? [error.message, nextStep(error), error.requestId]
      : error instanceof StreamError
        ? [error.message, "The answer above may be incomplete; ask again.", error.requestId]
        : isUnreachable(error)
          ? [`no gateway answers at ${url}`, "Start one with npm start, or name another with --url."]
          : [`what answers at ${url} is not this gateway, or another version of it`, "Check --url."]
  return `${printable(message)}${id === undefined ? "" : dim(` (request ${id})`)}\n${next}`
}
