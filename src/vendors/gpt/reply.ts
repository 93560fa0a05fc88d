/** OpenAI's chat completions: what is answered as a whole. */
import { Result } from "effect"
import type { Route } from "../../catalog/Route.ts"
import { misshapen } from "../../catalog/UpstreamFault.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import { callId, finishOfBody, makeAnswer, makeCall, newCallId, noUsage, servedOf } from "../answer.ts"
import type { Dialect } from "../Dialect.ts"
import { answerTokens, chatNames } from "../openaiUsage.ts"
import { noFilter, reasoningFilter, type TextFilter } from "../textFilters.ts"

export const reply: Dialect["reply"] = (body, route) => {
  const choice = objectOf(arrayOf(body.choices)[0])
  if (!isObject(choice.message)) return Result.fail(misshapen)
  const said = choice.message
  const finished = finishOfBody(textOf(choice.finish_reason), body)
  if (Result.isFailure(finished)) return Result.fail(finished.failure)
  const filter = filterFor(route)
  const toolCalls = arrayOf(said.tool_calls)
    .filter(isObject)
    .map((call) => {
      const { name, arguments: args } = objectOf(call.function)
      return makeCall(uniqueId(call.id, route), textOf(name) ?? "", textOf(args) ?? "")
    })
  return Result.succeed(
    makeAnswer({
      id: textOf(body.id),
      text: filter.push(textOf(said.content) ?? "") + filter.end(),
      refusal: textOf(said.refusal),
      toolCalls,
      finishReason: finished.success,
      usage: answerTokens(body.usage, route, chatNames) ?? noUsage,
      annotations: Array.isArray(said.annotations) ? said.annotations : undefined,
      logprobs: readLogprobs(choice, route),
      served: servedOf(body)
    })
  )
}

export const filterFor = ({ model }: Route): TextFilter =>
  model.thinking.tagged === true ? reasoningFilter() : noFilter

/** Those of tagged reasoning would show it, token by token. */
export const readLogprobs = ({ logprobs }: JsonObject, { model }: Route): JsonObject | undefined =>
  isObject(logprobs) && model.thinking.tagged !== true ? logprobs : undefined

/** Open-weight models' IDs may be positional (`call_0`), and come again in the next turn; ours do not. */
export const uniqueId = (id: Json | undefined, { model }: Route): string => {
  const given = textOf(id) ?? ""
  return given === "" || (model.thinking.tagged === true && /^[a-z]*[-_:]?\d{1,4}$/i.test(given))
    ? newCallId()
    : callId(given)
}
