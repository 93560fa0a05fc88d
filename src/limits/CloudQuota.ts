/**
 * Keeps requests within the quota that a deployment has with its cloud (`quota` in the catalog). A request that does not fit
 * waits, or is refused with the time to try again, before the cloud would refuse it (docs/decisions.md#the-clouds-quota). Each
 * process counts for itself.
 */
import { Context, Duration, Effect, Equal, Layer, Number as Num } from "effect"
import type { Deployment } from "../catalog/Catalog.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import { getOrInsert } from "../wire/getOrInsert.ts"
import { teamUser } from "./limits.ts"

// A token bucket that several teams take from (docs/decisions.md#the-clouds-quota). It refills evenly, so that all of it is used
// however many ask. A team that had less than an equal share in the last minute may take all that is free; one that had more
// leaves the others a part of theirs.

const minute = 60_000
/** The part of another team's share that is left free for it: ten seconds' worth, so that little lies idle while it does not ask. */
const kept = 1 / 6

/** What a team took in about the last minute, and when it asked last; it takes part for a minute. */
type TeamUse = { readonly amount: number; readonly at: number }

/** What is left of it: it fades. */
const faded = ({ amount, at }: TeamUse, now: number): number => amount * Math.exp((at - now) / minute)

/** `limit` is an amount a minute, and the most that may be taken at a time. It begins full. */
export const makeFairBucket = (limit: number, start: number) => {
  /** In the order in which teams asked last. */
  const uses = new Map<string, TeamUse>()
  let level = limit
  let filledAt = start
  /** What must be left for all teams, summed once for those that are looked at together. */
  let sum = { at: Number.NaN, teams: 0, left: 0 }

  const refill = (now: number): void => {
    level = Math.min(limit, level + ((now - filledAt) * limit) / minute)
    filledAt = now
  }
  /** What a team used, and now has of it; asking counts as taking part. */
  const use = (team: string, more: number, now: number): number => {
    const known = uses.get(team)
    const amount = Math.max(0, (known === undefined ? 0 : faded(known, now)) + more)
    uses.delete(team)
    uses.set(team, { amount, at: now })
    if (more !== 0) sum.at = Number.NaN
    return amount
  }
  const leftOf = (amount: number, share: number): number => Math.max(0, Math.min(share - amount, share * kept))
  const leftForAll = (share: number, now: number): number => {
    if (sum.at !== now || sum.teams !== uses.size) {
      let left = 0
      for (const use of uses.values()) left += leftOf(faded(use, now), share)
      sum = { at: now, teams: uses.size, left }
    }
    return sum.left
  }
  /** What a team that would have `wanted` beside what it `had` must leave for the others. */
  const leftForOthers = (had: number, wanted: number, now: number): number => {
    for (const [team, { at }] of uses) {
      if (now - at < minute) break
      uses.delete(team)
    }
    const share = limit / uses.size
    return had + wanted <= share ? 0 : leftForAll(share, now) - leftOf(had, share)
  }

  return {
    /** Milliseconds until so much can be taken; 0: it can now. */
    wait: (team: string, amount: number, now: number): number => {
      refill(now)
      // A request for more than the bucket holds is served when it is full.
      const wanted = Math.min(amount, limit)
      const had = use(team, 0, now)
      const missing = Math.min(limit, wanted + leftForOthers(had, wanted, now)) - level
      return missing <= 0 ? 0 : Math.ceil((missing * minute) / limit)
    },
    /** Takes it, also when there is less; a negative amount gives back. */
    take: (team: string, amount: number, now: number): void => {
      refill(now)
      level = Math.min(limit, level - amount)
      use(team, amount, now)
    }
  }
}

// The requests that wait.

/** Requests that may wait for one deployment; of more, those of teams that have less than an equal share of the places may. */
const mostWaiting = 1_000

const now = () => performance.now()

type CloudLimits = NonNullable<Deployment["quota"]>

interface CloudQuotaOptions {
  /** The longest that a request waits. */
  readonly wait: Duration.Duration
  /** The part of the agreed quota that this process may use, above 0 and up to 1. */
  readonly share: number
}

/** What a request takes: calls of the cloud, and about their tokens. */
interface Load {
  readonly requests: number
  readonly tokens: number
}

/** What a request came to; what is undefined is not known. */
type Used = { readonly [unit in keyof Load]: Load[unit] | undefined }

interface Wanted extends Load {
  readonly team: string
}

const refusal = (milliseconds: number) => {
  const seconds = Math.max(1, Math.ceil(milliseconds / 1000))
  return new GatewayError({
    reason: "rate-limit",
    message: `The gateway has used what it may ask of the cloud that serves this model for now. Try again in ${seconds} s.`,
    retryAfter: seconds,
    code: "cloud-quota"
  })
}

interface Waiter extends Wanted {
  readonly until: number
  readonly resume: (effect: Effect.Effect<void, GatewayError>) => void
}

/** Admits the requests for one deployment. */
const makeAdmission = (quota: CloudLimits, share: number, longest: number) => {
  const buckets = (["requests", "tokens"] as const).flatMap((unit) => {
    const limit = quota[unit]
    return limit === undefined ? [] : [{ unit, bucket: makeFairBucket(limit * share, now()) }]
  })
  /** By team, in the order in which they are served next. */
  const queues = new Map<string, Set<Waiter>>()
  let timer: NodeJS.Timeout | undefined
  /** When those that wait are looked at next. */
  let servesAt = Number.POSITIVE_INFINITY

  /** 0: taken. Else the milliseconds to wait, if no other request were waiting. */
  const take = (wanted: Wanted, at: number): number => {
    const wait = Math.max(0, ...buckets.map(({ bucket, unit }) => bucket.wait(wanted.team, wanted[unit], at)))
    if (wait === 0) for (const { bucket, unit } of buckets) bucket.take(wanted.team, wanted[unit], at)
    return wait
  }

  const leave = (waiter: Waiter): void => {
    const queue = queues.get(waiter.team)
    queue?.delete(waiter)
    if (queue?.size === 0) queues.delete(waiter.team)
  }

  /** Admits requests that fit, teams in turn, and refuses those that have waited long enough. */
  const serve = (): void => {
    let soonest = Number.POSITIVE_INFINITY
    let served = true
    while (served) {
      const at = now()
      served = false
      soonest = Number.POSITIVE_INFINITY
      for (const [team, queue] of [...queues]) {
        const [first] = queue
        if (first === undefined) continue
        const wait = take(first, at)
        const left = first.until - at
        if (wait > 0 && left > 0) {
          soonest = Math.min(soonest, wait, left)
          continue
        }
        leave(first)
        // A team that was served goes behind the others.
        if (queues.delete(team)) queues.set(team, queue)
        first.resume(wait === 0 ? Effect.void : Effect.fail(refusal(wait)))
        served = true
      }
    }
    servesAt = Number.POSITIVE_INFINITY
    if (queues.size > 0) serveIn(soonest)
    else clearTimeout(timer)
  }

  /** Looks at those that wait in so many milliseconds, unless it does so before that. */
  const serveIn = (milliseconds: number): void => {
    const delay = Math.max(1, milliseconds)
    const at = now() + delay
    if (at >= servesAt) return
    servesAt = at
    clearTimeout(timer)
    timer = setTimeout(serve, delay)
  }

  const isFull = (team: string): boolean => {
    const own = queues.get(team)?.size ?? 0
    const share = mostWaiting / (queues.size + (own === 0 ? 1 : 0))
    return own >= share && Num.sumAll(Array.from(queues.values(), ({ size }) => size)) >= mostWaiting
  }

  const enter = (wanted: Wanted): Effect.Effect<void, GatewayError> =>
    Effect.suspend(() => {
      const wait = take(wanted, now())
      if (wait === 0) return Effect.void
      if (longest === 0 || isFull(wanted.team)) return Effect.fail(refusal(wait))
      return Effect.callback<void, GatewayError>((resume) => {
        const waiter: Waiter = { ...wanted, until: now() + longest, resume }
        getOrInsert(queues, wanted.team, () => new Set()).add(waiter)
        serveIn(Math.min(wait, longest))
        return Effect.sync(() => leave(waiter))
      })
    })

  /** Takes what a request came to, less what it had taken. */
  const correct = (wanted: Wanted, used: Used): void => {
    let isLess = false
    for (const { bucket, unit } of buckets) {
      const more = (used[unit] ?? wanted[unit]) - wanted[unit]
      if (more !== 0) bucket.take(wanted.team, more, now())
      isLess ||= more < 0
    }
    if (isLess && queues.size > 0) serve()
  }
  return { quota, enter, correct }
}

const make = ({ share, wait }: CloudQuotaOptions) => {
  const admissions = new Map<string, ReturnType<typeof makeAdmission>>()

  const admissionOf = ({ cloud, model }: Pick<Deployment, "cloud" | "model">, quota: CloudLimits) => {
    const name = `${cloud}/${model}`
    const known = admissions.get(name)
    // A catalog that is read again keeps what was used, unless the quota is another.
    if (known !== undefined && Equal.equals(known.quota, quota)) return known
    const admission = makeAdmission(quota, share, Duration.toMillis(wait))
    admissions.set(name, admission)
    return admission
  }

  return {
    /**
     * Takes a load from what the deployment may use, waiting if it must. When the scope closes, `used` says what it came to. Fails
     * with `rate-limit`.
     */
    take: Effect.fnUntraced(function* (
      deployment: Pick<Deployment, "cloud" | "model">,
      quota: CloudLimits,
      { id, team }: Pick<CallerIdentity, "id" | "team">,
      load: Load,
      used: () => Used
    ) {
      const wanted = { ...load, team: team === undefined ? id : teamUser(team.name) }
      const admission = admissionOf(deployment, quota)
      const correct = Effect.sync(() => admission.correct(wanted, used()))
      yield* Effect.acquireRelease(admission.enter(wanted), () => correct, { interruptible: true })
    })
  }
}

export class CloudQuota extends Context.Service<CloudQuota, ReturnType<typeof make>>()("gateway/limits/CloudQuota") {
  static readonly layer = (options: CloudQuotaOptions) => Layer.succeed(CloudQuota, make(options))
}
