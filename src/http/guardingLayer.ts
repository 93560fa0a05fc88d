/** Asks the guards about requests and replies, and records what they do. */
import { Effect, Layer } from "effect"
import { internal } from "../catalog/GatewayError.ts"
import { surfaceOf, surfaces } from "../catalog/names.ts"
import type { GuardAction } from "../contract/Governance.ts"
import type { Fields } from "../contract/places.ts"
import { callsOf, textWithActions, toolsOf, withActions, withheld } from "../guards/bodies.ts"
import { frameReader, reportedError } from "../guards/frames.ts"
import { type About, askGuards, blockedError, type Guard, Guards } from "../guards/Guard.ts"
import { guardStream } from "../guards/guardStream.ts"
import { type GuardsOptions, guardsLayer } from "../guards/guardsLayer.ts"
import { requestFields, textsOf, withTexts } from "../guards/places.ts"
import type { NamesModel } from "../surfaces/Surface.ts"
import { isObject, type JsonObject } from "../wire/json.ts"
import { inOneTurn } from "../wire/slices.ts"
import { type GuardedEndpoint, Guarding, type ReplyGuards } from "./Guarding.ts"
import type { RequestRecord } from "./RequestRecord.ts"

/** Requests and replies are typed by their schemas, and are JSON objects. */
const jsonOf = (value: object): JsonObject => value as JsonObject

/** The guards of a reply. `fields`: where the texts of a whole one are. */
const makeReplyGuards = (
  about: About,
  fields: Fields,
  guards: ReadonlyArray<Guard>,
  record: RequestRecord,
  acted: (action: GuardAction) => void
): ReplyGuards => {
  const { surface } = about
  return {
    reply: Effect.fnUntraced(function* (given, read) {
      if (guards.length === 0) return given
      const body = given instanceof Uint8Array || !isObject(given) ? read : jsonOf(given)
      const texts = yield* inOneTurn(() => textsOf(fields, body))
      if (texts.length === 0) return given
      const asking = { about, input: "response", texts, toolCalls: callsOf(surface, body) } as const
      const judged = yield* askGuards(guards, asking, acted)
      if (judged.blocked !== undefined) {
        record.filtered = true
        return withheld(surface, body).body
      }
      const changed = yield* inOneTurn(() => withTexts(fields, body, judged.texts))
      return changed === body ? given : changed
    }),
    reported: (body, read) => {
      const { guardActions } = record
      if (guardActions.length === 0) return body
      if (typeof body === "string") return textWithActions(body, guardActions)
      return withActions(body instanceof Uint8Array ? read : jsonOf(body), guardActions)
    },
    hold: guards.some(({ action }) => action !== "flag"),
    failed: (frames) => reportedError(surface, frames, record.guardActions),
    stream: ({ hold, onWithheld, usage }) =>
      guards.length === 0 && record.guardActions.length === 0
        ? undefined
        : guardStream({
            about,
            guards,
            reader: frameReader(surface, fields),
            actions: () => record.guardActions,
            acted,
            usage,
            onWithheld: () => onWithheld(withheld(surface, {}).finishReason),
            hold
          })
  }
}

const layer = Layer.effect(
  Guarding,
  Effect.map(Guards, (guards) =>
    Guarding.of({
      request: Effect.fnUntraced(function* <R extends NamesModel>(
        { guarded, purpose }: GuardedEndpoint,
        request: R,
        record: RequestRecord
      ) {
        const { caller, files, id, images, route, span } = record
        if (route === undefined) return yield* internal
        const surface = surfaceOf(purpose)
        const own = guards.of({ caller, level: route.level, surface })
        if (own.length === 0) return { request }
        const acted = (action: GuardAction) => record.addGuardAction(action)
        const takeMemory = (bytes: number) => record.takeMemory(bytes)
        const about: About = { id, surface, level: route.level, caller, images, files, span, takeMemory }
        // Neither a vector nor a count says anything.
        const says = surfaces[purpose].output === "text"
        const after = own.filter(({ when }) => says && when !== "before")
        const replyGuards = makeReplyGuards(about, guarded.reply, after, record, acted)
        const before = own.filter(({ when }) => when !== "after")
        if (before.length === 0) return { request, replyGuards }
        const body = jsonOf(request)
        const fields = requestFields(body, guarded)
        const texts = yield* inOneTurn(() => textsOf(fields, body))
        const tools = toolsOf(surface, body)
        if (texts.length === 0 && tools.length === 0) return { request, replyGuards }
        const judged = yield* askGuards(before, { about, input: "request", texts, tools }, acted)
        const emptied = judged.emptied && blockedError(judged.emptied)
        if (judged.blocked !== undefined) return yield* blockedError(judged.blocked)
        // Its messages are passed on as they are, and the cloud takes none without text.
        if (surface === "messages" && emptied !== undefined) return yield* emptied
        const changed = yield* inOneTurn(() => withTexts(fields, body, judged.texts))
        return { request: changed as JsonObject & R, replyGuards, emptied }
      })
    })
  )
)

export const guardingLayer = (options: GuardsOptions) => layer.pipe(Layer.provide(guardsLayer(options)))
