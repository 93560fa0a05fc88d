/**
 * A token bucket that several teams take from (docs/decisions.md#the-clouds-quota). It refills evenly, so that all of it is
 * used however many ask. A team that had less than an equal share in the last minute may take all that is free; one that had
 * more leaves the others a part of theirs.
 */

const minute = 60_000
/**
 * The part of another team's share that is left free for it: ten seconds' worth, so that little lies idle while it does not
 * ask.
 */
const kept = 1 / 6

interface Use {
  /** What was taken in about the last minute; it fades. */
  readonly amount: number
  /** When the team asked last; it takes part for a minute. */
  readonly at: number
}

const faded = ({ amount, at }: Use, now: number): number => amount * Math.exp((at - now) / minute)

export class FairBucket {
  private readonly limit: number
  private readonly uses = new Map<string, Use>()
  private level: number
  private at: number

  /** `limit` is an amount a minute, and the most that may be taken at once. It begins full. */
  constructor(limit: number, now: number) {
    this.limit = limit
    this.level = limit
    this.at = now
  }

  /** Milliseconds until so much can be taken; 0: it can now. Asking counts as taking part. */
  wait(team: string, amount: number, now: number): number {
    this.refill(now)
    const own = this.use(team, now)
    // A request for more than the bucket holds is served when it is full.
    const wanted = Math.min(amount, this.limit)
    const missing = Math.min(this.limit, wanted + this.left(team, own + wanted, now)) - this.level
    return missing <= 0 ? 0 : Math.ceil((missing * minute) / this.limit)
  }

  /** Takes it, also when there is less; a negative amount gives back. */
  take(team: string, amount: number, now: number): void {
    this.refill(now)
    this.level = Math.min(this.limit, this.level - amount)
    this.uses.set(team, { amount: Math.max(0, this.use(team, now) + amount), at: now })
  }

  /** What a team that would then have had so much must leave for the others. */
  private left(team: string, had: number, now: number): number {
    for (const [other, { at }] of this.uses) if (now - at >= minute) this.uses.delete(other)
    const share = this.limit / this.uses.size
    if (had <= share) return 0
    let left = 0
    for (const [other, use] of this.uses)
      if (other !== team) left += Math.max(0, Math.min(share - faded(use, now), share * kept))
    return left
  }

  /** Its faded use; from now on it takes part. */
  private use(team: string, now: number): number {
    const known = this.uses.get(team)
    const amount = known === undefined ? 0 : faded(known, now)
    this.uses.set(team, { amount, at: now })
    return amount
  }

  private refill(now: number): void {
    // From the future, by a clock that was set back: full, not frozen until then.
    const since = now < this.at ? minute : now - this.at
    this.level = Math.min(this.limit, this.level + (since * this.limit) / minute)
    this.at = now
  }
}
