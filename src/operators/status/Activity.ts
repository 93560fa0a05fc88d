/**
 * The last hour, in this process's memory: per deployment and minute the requests, their durations and times to the first
 * event, and the last error; refusals and flags by reason. Written once a request, when it is over. It has no payload, no key
 * and nothing that a caller chose. Kept only where there is a status page (`GATEWAY_METRICS_PORT`).
 */
import { Context, Effect, Layer } from "effect"
import type { Outcome } from "../../catalog/RequestFacts.ts"
import { RecordActivity, type RecordRequest } from "../../telemetry/metrics.ts"
import { getOrInsert } from "../../wire/getOrInsert.ts"
import { makeHistogram } from "../histogram.ts"

/** Minutes that are kept, the running one included. */
export const minutesKept = 60
/** More deployments than a catalog has; what comes after them is not shown. */
const maxDeployments = 256

/** Small: there is one a minute. Percentiles are right within 9 %. */
export const times = makeHistogram({ smallest: 0.5, largest: 1_800_000, factor: 2 ** 0.25 })

export const emptyCounts = () => ({ requests: 0, failures: 0, durations: times.empty(), firsts: times.empty() })

interface DeploymentName {
  readonly cloud: string
  readonly region: string
  readonly model: string
}
export const nameOf = ({ cloud, model, region }: DeploymentName): string => `${cloud}/${region} ${model}`

/** What the gateway itself refused; what a cloud refused counts to the deployment. */
const refusing: ReadonlySet<Outcome> = new Set([
  ...(["invalid", "unauthenticated", "forbidden", "rate_limited", "quota", "caller_timeout", "shed"] as const)
])
/** Not by a fault of the deployment: answered, filtered, or ended by the caller or the operator. */
const notFailed: ReadonlySet<Outcome> = new Set(["ok", "filtered", "cancelled", "revoked", "drained"])

const increment = (counts: Map<string, number>, name: string, by: number) => {
  counts.set(name, (counts.get(name) ?? 0) + by)
}

const emptyDeployment = (name: DeploymentName) => ({
  name,
  /** By the minute's number modulo their length. `minute`: its number since the epoch. */
  slots: new Array<(ReturnType<typeof emptyCounts> & { readonly minute: number }) | undefined>(minutesKept),
  /** In milliseconds since the epoch, with our own code of what happened, never a message. */
  lastError: undefined as { readonly at: number; readonly code: string; readonly status: number } | undefined
})

export const makeActivity = () => {
  const deployments = new Map<string, ReturnType<typeof emptyDeployment>>()
  /** Since the start, by our own code of the reason. */
  const refusals = new Map<string, number>()
  /** Since the start, by surface. */
  const flags = new Map<string, number>()

  const record: RecordRequest = (facts, outcome, endedAt) => {
    const { failure, firstEventAt, region, route, startedAt, status, surface } = facts
    if (facts.flags > 0) increment(flags, surface ?? "other", facts.flags)
    if (refusing.has(outcome)) return increment(refusals, failure ?? outcome, 1)
    // Counting is free and quick, and would hide how long answers take.
    if (route === undefined || region === undefined || surface === "count_tokens") return
    const name = { cloud: route.deployment.cloud, region, model: route.model.id }
    if (!deployments.has(nameOf(name)) && deployments.size >= maxDeployments) return
    const deployment = getOrInsert(deployments, nameOf(name), () => emptyDeployment(name))
    const minute = Math.floor(endedAt / 60_000)
    const at = minute % minutesKept
    let slot = deployment.slots[at]
    if (slot?.minute !== minute) {
      slot = { minute, ...emptyCounts() }
      deployment.slots[at] = slot
    }
    slot.requests++
    if (notFailed.has(outcome)) times.add(slot.durations, endedAt - startedAt)
    else {
      slot.failures++
      deployment.lastError = { at: endedAt, code: failure ?? outcome, status }
    }
    if (firstEventAt !== undefined) times.add(slot.firsts, firstEventAt - startedAt)
  }

  /** As it can be sent to another process: counts of times as pairs of bin and count. */
  const snapshot = (now: number) => {
    const oldest = Math.floor(now / 60_000) - minutesKept
    return {
      deployments: [...deployments.values()].map(({ lastError, name, slots }) => ({
        ...name,
        minutes: slots.flatMap((slot) =>
          slot === undefined || slot.minute <= oldest
            ? []
            : [{ ...slot, durations: times.pairs(slot.durations), firsts: times.pairs(slot.firsts) }]
        ),
        lastError
      })),
      refusals: Object.fromEntries(refusals),
      flags: Object.fromEntries(flags)
    }
  }

  return { record, snapshot }
}

type Snapshot = ReturnType<ReturnType<typeof makeActivity>["snapshot"]>
export type Minute = Snapshot["deployments"][number]["minutes"][number]

export class Activity extends Context.Service<Activity, ReturnType<typeof makeActivity>>()("gateway/status/Activity") {
  static readonly layer = Layer.effectContext(
    Effect.sync(() => {
      const activity = makeActivity()
      return Context.add(Context.make(Activity, activity), RecordActivity, activity.record)
    })
  )
}
