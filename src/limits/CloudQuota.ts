/**
 * Keeps requests within the quota that a deployment has with its cloud (`quota` in the catalog). A request that does not fit
 * waits, or is refused with the time to try again, before the cloud would refuse it (docs/decisions.md#the-clouds-quota). Each
 * process counts for itself.
 */
import { Context, Duration, Effect, Layer, type Scope } from "effect"
import type { Deployment } from "../catalog/Catalog.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import { FairBucket } from "./fairBucket.ts"
import { keyUser, teamUser } from "./limits.ts"

/** Requests that may wait for one deployment; of more, those of teams that have less than an equal share of the places may. */
const mostWaiting = 1_000

export interface CloudQuotaOptions {
  /** The longest that a request waits. */
  readonly wait: Duration.Duration
  /** The part of the agreed quota that this process may use, above 0 and up to 1. */
  readonly share: number
  readonly now?: () => number
}

/** What a request takes: calls of the cloud, and about their tokens. */
export interface Load {
  readonly requests: number
  readonly tokens: number
}

interface Wanted extends Load {
  readonly team: string
}

export class CloudQuota extends Context.Service<
  CloudQuota,
  {
    /**
     * Takes a load from what the deployment may use, waiting if it must; undefined where nothing was
     * agreed. When the scope closes, `used` says how many tokens it came to; undefined leaves it as it was. Fails with
     * `rate-limit`.
     */
    readonly take: (
      deployment: Deployment,
      caller: Pick<CallerIdentity, "id" | "team">,
      load: Load,
      used: () => number | undefined
    ) => Effect.Effect<void, GatewayError, Scope.Scope> | undefined
  }
>()("gateway/limits/CloudQuota") {
  static readonly layer = (options: CloudQuotaOptions): Layer.Layer<CloudQuota> =>
    Layer.succeed(CloudQuota, make(options))
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

/** One deployment's. */
class Line {
  readonly quota: NonNullable<Deployment["quota"]>
  private readonly buckets: ReadonlyArray<{ readonly bucket: FairBucket; readonly of: (load: Load) => number }>
  /** By team, in the order in which they are served next. */
  private readonly teams = new Map<string, Array<Waiter>>()
  private waiting = 0
  private timer: NodeJS.Timeout | undefined
  private readonly now: () => number
  private readonly longest: number

  constructor(quota: Line["quota"], share: number, longest: number, now: () => number) {
    const { requests, tokens } = quota
    const at = now()
    this.quota = quota
    this.now = now
    this.longest = longest
    this.buckets = [
      ...(requests === undefined
        ? []
        : [{ bucket: new FairBucket(requests * share, at), of: ({ requests }: Load) => requests }]),
      ...(tokens === undefined
        ? []
        : [{ bucket: new FairBucket(tokens * share, at), of: ({ tokens }: Load) => tokens }])
    ]
  }

  readonly enter = (wanted: Wanted): Effect.Effect<void, GatewayError> =>
    Effect.suspend(() => {
      const wait = this.take(wanted)
      if (wait === 0) return Effect.void
      if (this.longest === 0 || this.isFull(wanted.team)) return Effect.fail(refusal(wait))
      return Effect.callback<void, GatewayError>((resume) => {
        const waiter: Waiter = { ...wanted, until: this.now() + this.longest, resume }
        const queue = this.teams.get(wanted.team)
        if (queue === undefined) this.teams.set(wanted.team, [waiter])
        else queue.push(waiter)
        this.waiting++
        this.serve()
        return Effect.sync(() => this.leave(waiter))
      })
    })

  private isFull(team: string): boolean {
    const own = this.teams.get(team)
    const share = mostWaiting / (this.teams.size + (own === undefined ? 1 : 0))
    return this.waiting >= mostWaiting && (own?.length ?? 0) >= share
  }

  /** The tokens that a request came to, less those it had taken. */
  readonly correct = (wanted: Wanted, used: number): void => {
    for (const { bucket, of } of this.buckets) {
      const difference = of({ ...wanted, tokens: used }) - of(wanted)
      if (difference !== 0) bucket.take(wanted.team, difference, this.now())
    }
    if (this.waiting > 0) this.serve()
  }

  /** 0: taken. Else the milliseconds to wait, if no other request were waiting. */
  private take(wanted: Wanted): number {
    const now = this.now()
    let wait = 0
    for (const { bucket, of } of this.buckets) wait = Math.max(wait, bucket.wait(wanted.team, of(wanted), now))
    if (wait === 0) for (const { bucket, of } of this.buckets) bucket.take(wanted.team, of(wanted), now)
    return wait
  }

  private leave(waiter: Waiter): void {
    const queue = this.teams.get(waiter.team) ?? []
    const at = queue.indexOf(waiter)
    if (at < 0) return
    queue.splice(at, 1)
    this.waiting--
    if (queue.length === 0) this.teams.delete(waiter.team)
  }

  /** Admits requests that fit, teams in turn, and refuses those that have waited long enough. */
  private readonly serve = (): void => {
    clearTimeout(this.timer)
    let soonest = Number.POSITIVE_INFINITY
    let served = true
    while (served) {
      served = false
      soonest = Number.POSITIVE_INFINITY
      for (const [team, queue] of [...this.teams]) {
        const [first] = queue
        if (first === undefined) continue
        const wait = this.take(first)
        const left = first.until - this.now()
        if (wait > 0 && left > 0) {
          soonest = Math.min(soonest, wait, left)
          continue
        }
        this.leave(first)
        // A team that was served goes behind the others.
        if (this.teams.delete(team)) this.teams.set(team, queue)
        first.resume(wait === 0 ? Effect.void : Effect.fail(refusal(wait)))
        served = true
      }
    }
    if (this.waiting > 0) this.timer = setTimeout(this.serve, Math.max(1, soonest))
  }
}

const make = ({ now = () => performance.now(), share, wait }: CloudQuotaOptions): CloudQuota["Service"] => {
  const lines = new Map<string, Line>()
  const longest = Duration.toMillis(wait)

  const lineOf = ({ cloud, model }: Deployment, quota: Line["quota"]): Line => {
    const name = `${cloud}/${model}`
    const known = lines.get(name)
    // A catalog that is read again keeps what was used, unless the quota is another.
    if (known !== undefined && known.quota.requests === quota.requests && known.quota.tokens === quota.tokens)
      return known
    const line = new Line(quota, share, longest, now)
    lines.set(name, line)
    return line
  }

  return {
    take: (deployment, { id, team }, load, used) => {
      const { quota } = deployment
      if (quota === undefined) return undefined
      const wanted = { ...load, team: team === undefined ? keyUser(id) : teamUser(team.name) }
      return Effect.suspend(() => {
        const line = lineOf(deployment, quota)
        return Effect.andThen(
          line.enter(wanted),
          Effect.addFinalizer(() =>
            Effect.sync(() => {
              const came = used()
              if (came !== undefined) line.correct(wanted, came)
            })
          )
        )
      })
    }
  }
}
