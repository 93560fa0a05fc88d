/** What the `OTEL_*` variables say of batches, limits and samples; OpenTelemetry's libraries read those of the exporters. */
import { ROOT_CONTEXT } from "@opentelemetry/api"
import { SamplingDecision, TraceIdRatioBasedSampler } from "@opentelemetry/sdk-trace-base"
import type { Environment } from "../../Settings.ts"
import type { AttributeLimits } from "./attributes.ts"
import type { BatchLimits } from "./batches.ts"
import type { Sampler, SpanLimits } from "./tracer.ts"

/** A count or a time in milliseconds; undefined where it is none, or below `least`. */
const whole = (value: string | undefined, least: number): number | undefined => {
  const number = Number(value || Number.NaN)
  return Number.isInteger(number) && number >= least ? number : undefined
}

export const positive = (value: string | undefined): number | undefined => whole(value, 1)

/** The defaults are those of the OpenTelemetry specification. */
export const batchLimits = (env: Environment, prefix: "BSP" | "BLRP"): BatchLimits => ({
  batch: positive(env[`OTEL_${prefix}_MAX_EXPORT_BATCH_SIZE`]) ?? 512,
  queue: positive(env[`OTEL_${prefix}_MAX_QUEUE_SIZE`]) ?? 2048,
  delay: positive(env[`OTEL_${prefix}_SCHEDULE_DELAY`]) ?? (prefix === "BSP" ? 5000 : 1000),
  timeout: positive(env[`OTEL_${prefix}_EXPORT_TIMEOUT`]) ?? 30_000
})

/** The limit for spans or log records takes precedence over the general one. */
export const attributeLimits = (env: Environment, of: "SPAN" | "LOGRECORD"): AttributeLimits => {
  const limit = (name: string, least: number) =>
    whole(env[`OTEL_${of}_${name}`], least) ?? whole(env[`OTEL_${name}`], least)
  return {
    count: limit("ATTRIBUTE_COUNT_LIMIT", 0) ?? 128,
    length: limit("ATTRIBUTE_VALUE_LENGTH_LIMIT", 1) ?? Number.POSITIVE_INFINITY
  }
}

export const spanLimits = (env: Environment): SpanLimits => ({
  ...attributeLimits(env, "SPAN"),
  events: whole(env.OTEL_SPAN_EVENT_COUNT_LIMIT, 0) ?? 128
})

/** Whether metrics are totals or what was added since the last time, and what is wrong with the variable. */
export const temporality = (env: Environment): { readonly is: "cumulative" | "delta"; readonly complaint?: string } => {
  const name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
  const given = env[name]?.toLowerCase() || "cumulative"
  if (given === "cumulative" || given === "delta") return { is: given }
  return { is: "cumulative", complaint: `${name} is neither cumulative nor delta: cumulative is taken` }
}

export interface Sampling {
  readonly sampler: Sampler
  /** What is wrong with the variables. */
  readonly complaint?: string
}

const always: Sampler = () => true
const ofParent =
  (root: Sampler): Sampler =>
  (trace, parent) =>
    parent?.sampled ?? root(trace, parent)

/** Samples a share of the traces by their IDs, so that services that do the same keep the same traces. */
const share = (env: Environment): Sampling => {
  const given = Number(env.OTEL_TRACES_SAMPLER_ARG || Number.NaN)
  const valid = given >= 0 && given <= 1
  const ratio = new TraceIdRatioBasedSampler(valid ? given : 1)
  const sampler: Sampler = ({ hex }) =>
    ratio.shouldSample(ROOT_CONTEXT, hex).decision === SamplingDecision.RECORD_AND_SAMPLED
  return valid ? { sampler } : { sampler, complaint: "OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1: all are taken" }
}

/** By `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`. */
export const sampling = (env: Environment): Sampling => {
  const name = env.OTEL_TRACES_SAMPLER || "parentbased_always_on"
  const [root, byParent] = name.startsWith("parentbased_") ? [name.slice("parentbased_".length), true] : [name, false]
  const of = ({ sampler, ...rest }: Sampling): Sampling => ({
    ...rest,
    sampler: byParent ? ofParent(sampler) : sampler
  })
  if (root === "always_on") return of({ sampler: always })
  if (root === "always_off") return of({ sampler: () => false })
  if (root === "traceidratio") return of(share(env))
  return {
    sampler: ofParent(always),
    complaint: `OTEL_TRACES_SAMPLER: there is no ${name}, so it is parentbased_always_on`
  }
}
