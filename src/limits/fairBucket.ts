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

/** `limit` is an amount a minute, and the most that may be taken at a time. It begins full. */
export const makeFairBucket = (limit: number, start: number) => {
  const uses = new Map<string, Use>()
  let level = limit
  let filledAt = start

  const refill = (now: number): void => {
    // From the future, by a clock that was set back: full, not frozen until then.
    const since = now < filledAt ? minute : now - filledAt
    level = Math.min(limit, level + (since * limit) / minute)
    filledAt = now
  }
  /** What a team used, and now has of it; asking counts as taking part. */
  const use = (team: string, more: number, now: number): number => {
    const known = uses.get(team)
    const amount = Math.max(0, (known === undefined ? 0 : faded(known, now)) + more)
    uses.set(team, { amount, at: now })
    return amount
  }
  /** What a team that would then have had so much must leave for the others. */
  const leftFor = (team: string, had: number, now: number): number => {
    for (const [other, { at }] of uses) if (now - at >= minute) uses.delete(other)
    const share = limit / uses.size
    if (had <= share) return 0
    let left = 0
    for (const [other, use] of uses)
      if (other !== team) left += Math.max(0, Math.min(share - faded(use, now), share * kept))
    return left
  }

  return {
    /** Milliseconds until so much can be taken; 0: it can now. */
    wait: (team: string, amount: number, now: number): number => {
      refill(now)
      // A request for more than the bucket holds is served when it is full.
      const wanted = Math.min(amount, limit)
      const had = use(team, 0, now) + wanted
      const missing = Math.min(limit, wanted + leftFor(team, had, now)) - level
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
