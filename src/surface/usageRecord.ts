/** The usage record of a request, from its observation. */
import { Exit } from "effect"
import type { UsageRecord } from "../access/UsageRecord.ts"
import type { Observation } from "./Observation.ts"

/** Undefined for paths that serve no model. `now` is in milliseconds since the epoch. */
export const usageRecordOf = (
  observation: Observation,
  exit: Exit.Exit<unknown, unknown>,
  now: number
): UsageRecord | undefined => {
  const { surface, route, tokens, reservation, startedAt, firstEventAt } = observation
  if (surface === undefined) return undefined
  const left = Exit.isFailure(exit)
  return {
    time: new Date(startedAt).toISOString(),
    request_id: observation.id,
    key_id: observation.key?.id ?? null,
    source: observation.source ?? null,
    surface,
    model: observation.modelId ?? null,
    deployment:
      route === undefined || observation.region === undefined
        ? null
        : { cloud: route.deployment.cloud, region: observation.region, model: route.model.id },
    level: route?.level ?? null,
    upstream_request_id: observation.upstreamRequestId ?? null,
    status: observation.status === 0 ? null : observation.status,
    outcome: observation.outcome ?? (left ? "cancelled" : "ok"),
    stream: observation.stream,
    stream_end: observation.streamEnd ?? null,
    tokens:
      tokens === undefined
        ? null
        : {
            input: tokens.input,
            output: tokens.output,
            ...(tokens.reasoning === undefined ? {} : { reasoning: tokens.reasoning }),
            ...(tokens.cached === undefined ? {} : { cached: tokens.cached })
          },
    bytes: { in: observation.bytesIn, out: observation.bytesOut },
    counts: {
      tools: observation.tools,
      images: observation.images,
      files: observation.files,
      flags: observation.flags
    },
    duration_ms: now - startedAt,
    first_event_ms: firstEventAt === undefined ? null : firstEventAt - startedAt,
    quota:
      reservation === undefined || reservation.reserved === 0
        ? null
        : { reserved: reservation.reserved, charged: reservation.charged() }
  }
}
