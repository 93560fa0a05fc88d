/** The messages surface: native pass-through, with counting (docs/api.md#messages, docs/api.md#counting-tokens). */
import { Result } from "effect"
import { countOf, reservedOutput } from "../catalog/Tokens.ts"
import { invalidBody } from "../catalog/UpstreamFault.ts"
import type { MessagesError } from "../contract/Errors.ts"
import { CountRequest, MessagesRequest } from "../contract/Messages.ts"
import type { CountReply } from "../contract/MessagesGroup.ts"
import type { Called } from "../governance/accumulate.ts"
import { isFilter, isGuarded } from "../vendors/answer.ts"
import { tokensOf } from "../vendors/claude/reply.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { messagesError } from "./errorResponse.ts"
import { mediaOf, plainNumbers, prepareMessages } from "./messagesBody.ts"
import { withoutFence } from "./messagesFormat.ts"
import { isCall, messagesProtocol } from "./messagesStream.ts"
import type { Prepared, Surface } from "./Surface.ts"

interface PreparedMessages extends Prepared {
  /** The base model, which replies name. */
  readonly model: string
  /** Whether an instruction stands for the format of the answer. */
  readonly emulated: boolean
}

/** The calls in a whole reply, which are scanned (docs/api.md#tool-call-scan). */
const callsOf = (content: Json | undefined): ReadonlyArray<Called> =>
  arrayOf(content)
    .filter(isObject)
    .filter(isCall)
    .map(({ id, input, name }) => ({ id: textOf(id) ?? "", name: textOf(name) ?? "", input }))

const countsOf = (request: JsonObject) => ({ tools: arrayOf(request.tools).length, ...mediaOf(request) })

export const messages: Surface<MessagesRequest, PreparedMessages, MessagesError> = {
  purpose: "messages",
  schema: MessagesRequest,
  plainNumbers,
  error: messagesError,
  counts: countsOf,
  tools: (request) =>
    arrayOf(request.tools)
      .filter(isObject)
      .map((tool) => ({ name: textOf(tool.name) ?? "", schema: tool.input_schema })),
  prepare: (request, route, { headers }) =>
    Result.map(
      prepareMessages(request, route, { betaHeader: headers["anthropic-beta"], counting: false }),
      ({ body, adjusted, emulated, thinkingAdjusted }) => ({
        operation: "messages" as const,
        bodies: [request.stream === true ? { ...body, stream: true } : body],
        stream: request.stream === true,
        maxOutput: reservedOutput(body, route.model),
        model: route.model.id,
        emulated,
        adjusted,
        thinkingAdjusted
      })
    ),
  answer: ({ emulated, model }, reply) => {
    if (reply.body.type !== "message") return Result.fail(invalidBody)
    const body = emulated ? withoutFence(reply.body) : reply.body
    return Result.succeed({
      calls: callsOf(body.content),
      body: (governance) => ({
        ...body,
        model,
        ...(governance === undefined ? {} : { x_gateway_governance: governance })
      }),
      tokens: tokensOf(objectOf(body.usage)),
      finishReason: textOf(body.stop_reason),
      filtered: isGuarded(body) || isFilter(body.stop_reason)
    })
  },
  protocol: ({ emulated, model }) => messagesProtocol(model, emulated)
}

export const countTokens: Surface<CountRequest, Prepared, MessagesError> = {
  purpose: "count_tokens",
  schema: CountRequest,
  plainNumbers,
  error: messagesError,
  counts: countsOf,
  prepare: (request, route, { headers }) =>
    Result.map(
      prepareMessages(request, route, { betaHeader: headers["anthropic-beta"], counting: true }),
      ({ body, adjusted }) => ({
        operation: "count" as const,
        bodies: [body],
        stream: false,
        maxOutput: undefined,
        adjusted
      })
    ),
  answer: (_, { body }) => {
    const count = countOf(body.input_tokens)
    return count === undefined
      ? Result.fail(invalidBody)
      : Result.succeed({
          calls: [],
          body: () => JSON.stringify({ input_tokens: count } satisfies typeof CountReply.Type),
          tokens: undefined,
          finishReason: undefined
        })
  }
}
