/**
 * What the last hour was like, in this process's memory: per deployment and minute the requests, their durations and times to
 * the first event, and the last error; refusals and flags by reason. Written once a request, when it is over. It has no
 * payload, no key and nothing that a caller chose. Kept only where there is a status page (`GATEWAY_METRICS_PORT`).
 */
import { Context, Layer } from "effect"
import type { Outcome } from "../model/Outcome.ts"
import type { RequestFacts } from "../model/RequestFacts.ts"
import { makeHistogram } from "../wire/histogram.ts"

/** Minutes that are kept, the running one included. */
export const minutesKept = 60
/** More deployments than a catalog has; what comes after them is not shown. */
const maxDeployments = 256

/** Small: there is one a minute. Percentiles are right within 9 %. */
export const times = makeHistogram({ smallest: 0.5, largest: 1_800_000, factor: 2 ** 0.25 })

/** What is reported of a minute: its number since the epoch, and pairs of bin and count. */
export interface Minute {
  readonly minute: number
  readonly requests: number
  readonly failures: number
  readonly durations: ReadonlyArray<number>
  readonly firsts: ReadonlyArray<number>
}

export interface LastError {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Our own code of what happened, never a message. */
  readonly code: string
  readonly status: number
}

export interface DeploymentActivity {
  readonly cloud: string
  readonly region: string
  readonly model: string
  readonly minutes: ReadonlyArray<Minute>
  readonly lastError?: LastError | undefined
}

/** As it can be sent to another process. */
export interface ActivitySnapshot {
  readonly deployments: ReadonlyArray<DeploymentActivity>
  /** Since the start, by our own code of the reason. */
  readonly refusals: Readonly<Record<string, number>>
  /** Since the start, by surface. */
  readonly flags: Readonly<Record<string, number>>
}

class Slot {
  minute = -1
  requests = 0
  failures = 0
  readonly durations = times.empty()
  readonly firsts = times.empty()

  begin(minute: number): void {
    this.minute = minute
    this.requests = 0
    this.failures = 0
    this.durations.fill(0)
    this.firsts.fill(0)
  }
}

interface Kept {
  readonly cloud: string
  readonly region: string
  readonly model: string
  /** By the minute's number modulo its length; a minute without requests has none. */
  readonly slots: Array<Slot | undefined>
  lastError: LastError | undefined
}

/** What the gateway refused by itself; what a cloud refused counts to the deployment. */
const refusing: ReadonlySet<Outcome> = new Set([
  ...(["invalid", "unauthenticated", "forbidden", "rate_limited", "quota", "caller_timeout", "shed"] as const)
])
/** The caller's own doing, which says nothing of a deployment. */
const notFailed: ReadonlySet<Outcome> = new Set(["ok", "cancelled", "revoked", "drained"])

const increment = (counts: Map<string, number>, name: string, by: number) => {
  counts.set(name, (counts.get(name) ?? 0) + by)
}

export class ActivityLog {
  private readonly deployments = new Map<string, Kept>()
  private readonly refusals = new Map<string, number>()
  private readonly flags = new Map<string, number>()

  /** `endedAt` is in milliseconds since the epoch. */
  readonly record = (facts: RequestFacts, outcome: Outcome, endedAt: number): void => {
    if (facts.flags > 0) increment(this.flags, facts.surface ?? "other", facts.flags)
    const { region, route } = facts
    if (route === undefined || region === undefined || refusing.has(outcome)) {
      if (refusing.has(outcome)) increment(this.refusals, facts.failure ?? outcome, 1)
      return
    }
    // Counting is free and quick, and would hide how long answers take.
    if (facts.surface === "count_tokens") return
    const kept = this.keptOf(route.deployment.cloud, region, route.model.id)
    if (kept === undefined) return
    const minute = Math.floor(endedAt / 60_000)
    const at = minute % minutesKept
    let slot = kept.slots[at]
    if (slot === undefined) {
      slot = new Slot()
      kept.slots[at] = slot
    }
    if (slot.minute !== minute) slot.begin(minute)
    slot.requests++
    const { firstEventAt, startedAt } = facts
    if (notFailed.has(outcome)) {
      times.add(slot.durations, endedAt - startedAt)
    } else {
      slot.failures++
      kept.lastError = { at: endedAt, code: facts.failure ?? outcome, status: facts.status }
    }
    if (firstEventAt !== undefined) times.add(slot.firsts, firstEventAt - startedAt)
  }

  private keptOf(cloud: string, region: string, model: string): Kept | undefined {
    const name = `${cloud}/${region} ${model}`
    const known = this.deployments.get(name)
    if (known !== undefined) return known
    if (this.deployments.size >= maxDeployments) return undefined
    const kept: Kept = { cloud, region, model, slots: new Array(minutesKept).fill(undefined), lastError: undefined }
    this.deployments.set(name, kept)
    return kept
  }

  readonly snapshot = (now: number): ActivitySnapshot => {
    const oldest = Math.floor(now / 60_000) - minutesKept
    return {
      deployments: [...this.deployments.values()].map(({ cloud, region, model, slots, lastError }) => ({
        cloud,
        region,
        model,
        minutes: slots
          .filter((slot): slot is Slot => slot !== undefined && slot.minute > oldest)
          .map(({ minute, requests, failures, durations, firsts }) => ({
            minute,
            requests,
            failures,
            durations: times.pairs(durations),
            firsts: times.pairs(firsts)
          })),
        lastError
      })),
      refusals: Object.fromEntries(this.refusals),
      flags: Object.fromEntries(this.flags)
    }
  }
}

/** Undefined where there is no status page: then nothing is kept. */
export const Activity = Context.Reference<ActivityLog | undefined>("gateway/status/Activity", {
  defaultValue: () => undefined
})

/** The memory, where there is a page to show it. */
export const activityLayer = (kept: boolean) => (kept ? Layer.sync(Activity, () => new ActivityLog()) : Layer.empty)
