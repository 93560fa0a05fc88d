/**
 * Asks a detector that speaks LiteLLM's generic guardrail API, as it is published at
 * https://docs.litellm.ai/docs/adding_provider/generic_guardrail_api (docs/guards.md#what-is-sent).
 */
import { Dispatcher } from "@effect/platform-node/NodeHttpClient"
import { Clock, Duration, Effect, Exit, Option, RcMap } from "effect"
import { type GatewayError, noRoom } from "../catalog/GatewayError.ts"
import { CurrentCall, makeClient, postJson } from "../cloud/client.ts"
import { type ClientCertificate, connect } from "../cloud/connections.ts"
import { portOf } from "../settings/fields.ts"
import { recordGuard } from "../telemetry/metrics.ts"
import { endSpan, makeOpenSpan, startTimer } from "../telemetry/spans.ts"
import { arrayOf, compact, type JsonObject, readObject, textOf } from "../wire/json.ts"
import { print } from "../wire/print.ts"
import { type Asking, type Guard, GuardFailure, type Verdict } from "./Guard.ts"
import { type GuardRead, type GuardSettings, levelsOf } from "./GuardsFile.ts"
import { mayStandFor } from "./places.ts"

const path = "/beta/litellm_basic_guardrail_api"
const twoSeconds = Duration.seconds(2)

const failed = (why: GuardFailure["why"]) => new GuardFailure({ why })

/** A reason of one short word says what was found; a sentence may quote it. */
const categoryOf = (reason: string | undefined): string =>
  reason !== undefined && /^[A-Za-z0-9_-]{1,64}$/.test(reason) ? reason : "policy"

/** What is sent. Media are counted, and keys are no part of it. */
const bodyOf = ({ params }: GuardSettings, { about, input, texts, toolCalls = [], tools = [] }: Asking): JsonObject => {
  const { caller, files, id, images, level, span, surface } = about
  const team = caller?.team?.name
  const gateway = { surface, level, places: texts.map(({ place }) => place), images, files }
  return compact({
    texts: texts.map(({ text }) => text),
    tools: tools.length === 0 ? undefined : tools,
    tool_calls: toolCalls.length === 0 ? undefined : toolCalls,
    request_data: compact({
      user_api_key_alias: caller?.name,
      user_api_key_team_id: team,
      user_api_key_team_alias: team
    }),
    input_type: input,
    litellm_call_id: id,
    litellm_trace_id: span?.traceId,
    additional_provider_specific_params: { ...params, gateway }
  })
}

const verdictOf = (reply: JsonObject | undefined, { texts }: Asking) => {
  const category = categoryOf(textOf(reply?.blocked_reason))
  switch (reply?.action) {
    case "NONE":
      return Effect.undefined
    case "BLOCKED":
      return Effect.succeed({ category })
    case "GUARDRAIL_INTERVENED": {
      const given = arrayOf(reply.texts)
      const others = given.filter((text) => typeof text === "string")
      return given.length === texts.length && texts.every((text, at) => mayStandFor(text, others[at]))
        ? Effect.succeed({ category, texts: others })
        : Effect.fail(failed("texts"))
    }
    default:
      return Effect.fail(failed("reply"))
  }
}

const outcomeOf = (exit: Exit.Exit<Verdict | undefined, unknown>): string => {
  if (Exit.isSuccess(exit))
    return exit.value === undefined ? "none" : exit.value.texts === undefined ? "blocked" : "intervened"
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return error instanceof GuardFailure ? error.why : error === undefined ? "cancelled" : "memory"
}

const clientBy = (certificate: ClientCertificate | undefined) =>
  Effect.provideServiceEffect(makeClient, Dispatcher, connect(certificate))

/** Made once; then makes a guard of its settings. Every call has a span and is counted. */
export const makeDetectors = Effect.gen(function* () {
  // By certificate: when the file names another, the connections that were made with the one before end after their last call.
  const clients = yield* RcMap.make({ lookup: clientBy, idleTimeToLive: "1 minute" })
  const openSpan = yield* makeOpenSpan
  const clock = yield* Clock.Clock

  return (settings: GuardRead): Guard => {
    const { action, deadline = twoSeconds, hold = "sentence", name, onFailure = "refuse", url, when } = settings
    const held = levelsOf(settings)
    const to = new URL(url + path)
    const port = portOf(to)

    const ask = Effect.fnUntraced(function* (asking: Asking, answered: (status: number) => void) {
      let taken = 0
      const takeMemory = (bytes: number): boolean => {
        taken += bytes
        return asking.about.takeMemory(bytes)
      }
      yield* Effect.addFinalizer(() => Effect.sync(() => void takeMemory(-taken)))
      const size = asking.texts.reduce((sum, { text }) => sum + text.length, 0)
      const text = yield* print(bodyOf(settings, asking), size)
      const body = typeof text === "string" ? Buffer.from(text) : text
      if (!takeMemory(body.length)) return yield* noRoom
      const request = postJson(to, { "content-type": "application/json", accept: "application/json" }, body)
      const client = yield* RcMap.get(clients, settings.client)
      const call = { sent: () => {}, takeMemory, received: () => {} }
      const response = yield* client.execute(request).pipe(
        Effect.provideService(CurrentCall, call),
        Effect.mapError(() => failed("unreachable"))
      )
      answered(response.status)
      if (response.status !== 200) return yield* failed("status")
      const reply = yield* Effect.mapError(response.text, () => failed("reply"))
      return yield* verdictOf(readObject(reply), asking)
    }, Effect.scoped)

    const judge: Guard["judge"] = Effect.fnUntraced(function* (asking) {
      if (!held.has(asking.about.level)) return yield* failed("boundary")
      const now = startTimer(clock)
      const startedAt = now()
      const span = openSpan?.(`guard ${name}`, "client", asking.about.span, startedAt)
      let status: number | undefined
      const answered = (answer: number) => {
        status = answer
      }
      const ended = (exit: Exit.Exit<Verdict | undefined, GuardFailure | GatewayError>) =>
        Effect.sync(() => {
          const outcome = outcomeOf(exit)
          const endedAt = now()
          recordGuard(name, asking.input, outcome, Number(endedAt - startedAt) / 1e9)
          const attributes = {
            "gateway.guard.name": name,
            "gateway.guard.input": asking.input,
            "gateway.guard.outcome": outcome,
            "gateway.level": asking.about.level,
            "server.address": to.hostname,
            "server.port": port,
            "http.response.status_code": status,
            "error.type": Exit.isFailure(exit) ? outcome : undefined
          }
          if (span !== undefined) endSpan(span, endedAt, attributes)
        })
      return yield* ask(asking, answered).pipe(
        Effect.timeoutOrElse({ duration: deadline, orElse: () => Effect.fail(failed("timeout")) }),
        Effect.onExit(ended)
      )
    })

    return { name, action, when, hold, onFailure, judge }
  }
})
