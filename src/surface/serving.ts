/** What every inference surface is served with: the gate, the providers, the limits, the screen. */
import { Effect, type Scope } from "effect"
import { type ScreenMode, screenTools } from "../governance/screen.ts"
import { GatewayError } from "../model/GatewayError.ts"
import type { Reply } from "../provider/Provider.ts"
import { ceilingError } from "../provider/Upstream.ts"
import { Settings } from "../Settings.ts"
import { cloudProviders } from "./cloudProviders.ts"
import { Gate } from "./Gate.ts"
import { CurrentObservation } from "./Observation.ts"

/** A tool definition as the screen reads it. */
export interface ScreenedTool {
  readonly name: string
  readonly schema: unknown
}

/** Yielded once, when a surface's layer is built. */
export const makeServing = Effect.gen(function* () {
  const settings = yield* Settings
  const gate = yield* Gate
  const providerOf = yield* cloudProviders
  const mode: ScreenMode = settings.screenMode

  /** Several calls under one ceiling of unstreamed requests. */
  const within = <A, R>(effect: Effect.Effect<A, GatewayError, R>) =>
    Effect.timeoutOrElse(effect, {
      duration: settings.requestCeiling,
      orElse: () => Effect.fail(ceilingError)
    })

  return {
    settings,
    admit: gate.admit,
    hold: gate.hold,
    watchEnd: gate.watchEnd,
    providerOf,
    bodyLimits: { maxBytes: settings.maxBodyBytes, timeout: settings.bodyTimeout },
    streamLimits: {
      heartbeat: settings.heartbeat,
      idle: settings.streamIdleTimeout,
      ceiling: settings.streamCeiling
    },
    within,
    /** One unstreamed call; where it was served goes to the observation. */
    whole: Effect.fnUntraced(function* (sent: Effect.Effect<Reply, GatewayError, Scope.Scope>) {
      const observation = yield* CurrentObservation
      const reply = yield* sent
      observation.region = reply.region
      observation.upstreamRequestId = reply.requestId
      return reply
    }),
    /** Refuses tools whose parameters name an outbound destination, on the surfaces that the operator screens. */
    screen: (surface: "chat" | "messages" | "responses", tools: ReadonlyArray<ScreenedTool>) => {
      if (!settings.screenSurfaces.has(surface) || tools.length === 0) return Effect.void
      const refusal = screenTools(tools, mode)
      return refusal === undefined
        ? Effect.void
        : Effect.fail(new GatewayError({ reason: "invalid", message: refusal.message, code: "screen" }))
    }
  }
})
