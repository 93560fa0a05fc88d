/** What the gateway does with a request before a cloud is asked, as the steps in which it does it. */
import { Cause, Effect, Exit, Option, Result } from "effect"
import type { Route } from "../../src/catalog/Route.ts"
import type { ApiError, MessagesError } from "../../src/contract/Errors.ts"
import { makeBodyDecoder } from "../../src/http/body.ts"
import { chat } from "../../src/surfaces/chat.ts"
import { embeddings } from "../../src/surfaces/embeddings.ts"
import { countTokens, messages } from "../../src/surfaces/messages.ts"
import { responses } from "../../src/surfaces/responses.ts"
import type { NamesModel, Prepared, Surface } from "../../src/surfaces/Surface.ts"
import { adjustedHeaders } from "../../src/vendors/adjustments.ts"
import { keepParsed } from "../../src/vendors/toolCalls.ts"
import { isObject } from "../../src/wire/json.ts"
import { exactNumberOf, maxNesting, newBudget } from "../../src/wire/parse.ts"
import { type ParseOptions, parseInSlices } from "../../src/wire/parseInSlices.ts"
import { printPieces } from "../../src/wire/print.ts"
import { inOneTurn } from "../../src/wire/slices.ts"
import {
  azure,
  flash,
  opus,
  opusBedrock,
  oss,
  routeOf,
  sonnet,
  sonnetBedrock,
  terra,
  titan
} from "../vendors/support.ts"
import type { Step, Turns } from "./growth.ts"

/** Runs all steps that a request passes; answers why it is refused, if it is. */
export type Serve = (bytes: Buffer, step: Step, turns: Turns) => Promise<string | undefined>

const serving = <Request extends NamesModel, P extends Prepared, E extends ApiError | MessagesError>(
  surface: Surface<Request, P, E>,
  routes: ReadonlyArray<Route>,
  headers: Readonly<Record<string, string>> = {},
  counting?: Pick<Surface<Request, Prepared, E>, "prepare">
): Serve => {
  const judge = makeBodyDecoder<Request>(surface.schema)
  return async (bytes, step, turns) => {
    const parse = (what: string, bytes: Buffer, options: Omit<ParseOptions, "numberOf">) => {
      const slices = parseInSlices(bytes, { ...options, numberOf: exactNumberOf })
      for (;;) {
        const { done, value } = step(what, () => slices.next())
        if (done === true) return value
      }
    }
    const body = parse("parse", bytes, { budget: newBudget() })
    if (Result.isFailure(body)) return body.failure.message
    const judged = await turns("judge", Effect.flatten(inOneTurn(() => judge(body.success))))
    if (Exit.isFailure(judged)) return Cause.findErrorOption(judged.cause).pipe(Option.getOrThrow).message
    const request = judged.value
    for (const { holder, text } of step("list texts", () => surface.texts?.(request) ?? [])) {
      const read = parse("parse texts", Buffer.from(text), { budget: newBudget(), depth: maxNesting })
      const value = Result.isSuccess(read) ? read.success : undefined
      if (holder !== undefined) keepParsed(holder, isObject(value) ? value : undefined)
    }
    step("count", () => surface.counts(request))
    step("list tools", () => surface.tools?.(request))
    let refusal: string | undefined
    const printed = new Set<string>()
    for (const route of routes) {
      const name = `${route.model.id} on ${route.deployment.cloud}`
      const arrival = { id: "id", startedAt: 0, headers, inputEstimate: 0 }
      if (counting !== undefined) step(`prepare a count for ${name}`, () => counting.prepare(request, route, arrival))
      const prepared = step(`prepare for ${name}`, () => surface.prepare(request, route, arrival))
      if (Result.isFailure(prepared)) {
        refusal = prepared.failure.message
        continue
      }
      const { adjusted = [], bodies, thinkingAdjusted = [] } = prepared.success
      step("name changes", () => adjustedHeaders(adjusted, thinkingAdjusted))
      // How a body is printed depends on its form only, which all models of an API have in common.
      if (printed.has(route.deployment.api)) continue
      printed.add(route.deployment.api)
      for (const body of bodies) {
        const print = printPieces(body)
        while (step(`print for ${name}`, () => print.next()).done !== true);
      }
    }
    return refusal
  }
}

/** Takes system messages among the others. */
const opusSystem = routeOf("claude-opus-4-8", "vertex")
const betas = { "anthropic-beta": Array.from({ length: 200 }, (_, at) => `beta-${at}`).join(",") }

/** Every endpoint that takes a body, with models of each family and API; a count takes what a message takes. */
export const endpoints: Readonly<Record<string, Serve>> = {
  "/v1/chat/completions": serving(chat, [sonnet, sonnetBedrock, opus, flash, azure, terra, oss]),
  "/v1/messages": serving(messages, [sonnet, sonnetBedrock, opusSystem, opusBedrock], betas, countTokens),
  "/v1/responses": serving(responses, [azure, terra]),
  "/v1/embeddings": serving(embeddings, [titan])
}
