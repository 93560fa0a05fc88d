/**
 * Asks a detector that speaks LiteLLM's generic guardrail API, as it is published at
 * https://docs.litellm.ai/docs/adding_provider/generic_guardrail_api (docs/guards.md#what-is-sent).
 */
import { Dispatcher } from "@effect/platform-node/NodeHttpClient"
import { Clock, Duration, Effect, Exit, Option, RcMap } from "effect"
import { noRoom } from "../catalog/GatewayError.ts"
import { CurrentCall, makeClient, postJson } from "../cloud/client.ts"
import { type ClientCertificate, connect } from "../cloud/connections.ts"
import { recordGuard } from "../telemetry/metrics.ts"
import { endSpan, makeOpenSpan, startTimer } from "../telemetry/spans.ts"
import { arrayOf, type JsonObject, readObject, textOf } from "../wire/json.ts"
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
const bodyOf = ({ params }: GuardSettings, { about, input, texts, toolCalls, tools }: Asking): JsonObject => ({
  texts: texts.map(({ text }) => text),
  ...(tools === undefined || tools.length === 0 ? {} : { tools }),
  ...(toolCalls === undefined || toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  request_data: {
    ...(about.caller === undefined ? {} : { user_api_key_alias: about.caller.name }),
    ...(about.caller?.team === undefined
      ? {}
      : { user_api_key_team_id: about.caller.team.name, user_api_key_team_alias: about.caller.team.name })
  },
  input_type: input,
  litellm_call_id: about.id,
  ...(about.span === undefined ? {} : { litellm_trace_id: about.span.traceId }),
  additional_provider_specific_params: {
    ...params,
    gateway: {
      surface: about.surface,
      level: about.level,
      places: texts.map(({ place }) => place),
      images: about.images,
      files: about.files
    }
  }
})

const verdictOf = (
  reply: JsonObject | undefined,
  { texts }: Asking
): Effect.Effect<Verdict | undefined, GuardFailure> => {
  const category = categoryOf(textOf(reply?.blocked_reason))
  switch (reply?.action) {
    case "NONE":
      return Effect.undefined
    case "BLOCKED":
      return Effect.succeed({ category, blocked: true })
    case "GUARDRAIL_INTERVENED": {
      const others = arrayOf(reply.texts).filter((text) => typeof text === "string")
      const fits =
        Array.isArray(reply.texts) &&
        reply.texts.length === texts.length &&
        others.length === texts.length &&
        texts.every((text, at) => mayStandFor(text, others[at] ?? ""))
      return fits ? Effect.succeed({ category, blocked: false, texts: others }) : Effect.fail(failed("texts"))
    }
    default:
      return Effect.fail(failed("reply"))
  }
}

const outcomeOf = (exit: Exit.Exit<Verdict | undefined, unknown>): string => {
  if (Exit.isSuccess(exit)) return exit.value === undefined ? "none" : exit.value.blocked ? "blocked" : "intervened"
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
    const port = Number(to.port) || (to.protocol === "https:" ? 443 : 80)

    const ask = Effect.fnUntraced(function* (asking: Asking, answered: (status: number) => void) {
      const { take } = asking.about
      const size = asking.texts.reduce((sum, { text }) => sum + text.length, 0)
      const text = yield* print(bodyOf(settings, asking), size)
      const body = typeof text === "string" ? Buffer.from(text) : text
      if (!take(body.length)) return yield* noRoom
      yield* Effect.addFinalizer(() => Effect.sync(() => void take(-body.length)))
      const request = postJson(to, { "content-type": "application/json", accept: "application/json" }, body)
      const client = yield* RcMap.get(clients, settings.client)
      const call = { sent: () => {}, take, received: () => {} }
      const response = yield* client.execute(request).pipe(
        Effect.provideService(CurrentCall, call),
        Effect.mapError(() => failed("unreachable"))
      )
      answered(response.status)
      if (response.status !== 200) return yield* failed("status")
      const reply = yield* Effect.mapError(response.text, () => failed("reply"))
      return yield* verdictOf(readObject(reply), asking)
    }, Effect.scoped)

    const judge: Guard["judge"] = (asking) =>
      Effect.suspend(() => {
        if (!held.has(asking.about.level)) return Effect.fail(failed("boundary"))
        const now = startTimer(clock)
        const startedAt = now()
        const span = openSpan?.(`guard ${name}`, "client", asking.about.span, startedAt)
        let status: number | undefined
        const answered = (answer: number) => {
          status = answer
        }
        return Effect.timeoutOrElse(ask(asking, answered), {
          duration: deadline,
          orElse: () => Effect.fail(failed("timeout"))
        }).pipe(
          Effect.onExit((exit) =>
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
          )
        )
      })

    return { name, action, when, hold, onFailure, judge }
  }
})
