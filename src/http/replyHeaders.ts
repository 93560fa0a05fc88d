/** Headers of a reply that say where it came from and what was changed of its request. */
import type { RequestFacts } from "../catalog/RequestFacts.ts"

/**
 * Which cloud, region and level a reply's text came from or went to (docs/decisions.md#proof-of-the-boundary); none where no cloud was
 * asked.
 */
export const servedHeaders = ({
  cloud,
  region,
  route
}: Pick<RequestFacts, "cloud" | "region" | "route">): Readonly<Record<string, string>> =>
  cloud === undefined || region === undefined || route === undefined
    ? {}
    : {
        "x-gateway-served-model": route.model.id,
        "x-gateway-served-by": `${cloud}/${region}`,
        "x-gateway-served-level": route.level
      }

/** Longest value of the header, in characters of ASCII. */
export const maxAdjusted = 1024
/** Longest mention of one change, part of which may be the caller's text. */
const maxEntry = 160

const printable = (change: string): string => change.slice(0, maxEntry).replace(/[^\x21-\x7e]|,/g, "?")

/**
 * The changes (`name:from->to`, `name:removed`), each once and in order, as one value; undefined where there are none. Those
 * that find no room are counted at the end: `more:3`.
 */
export const printAdjusted = (changes: ReadonlyArray<string>): string | undefined => {
  const entries = new Set(changes)
  const room = maxAdjusted - `, more:${entries.size}`.length
  /** All so far, and as much of it as leaves room to count the rest. */
  let all = ""
  let value = ""
  let kept = 0
  for (const entry of entries) {
    all += all === "" ? printable(entry) : `, ${printable(entry)}`
    if (all.length > maxAdjusted) return `${value}, more:${entries.size - kept}`
    if (all.length > room) continue
    value = all
    kept++
  }
  return all === "" ? undefined : all
}

/**
 * What the gateway changed of a request, so that nothing is changed in silence (docs/api.md#adjusted-requests): `x-gateway-adjusted` and, for thinking on the messages surface, `x-gateway-thinking-adjusted`; each where there is something.
 */
export const adjustedHeaders = (
  changes: ReadonlyArray<string>,
  thinking: ReadonlyArray<string>
): Readonly<Record<string, string>> => {
  const [adjusted, thinkingAdjusted] = [printAdjusted(changes), printAdjusted(thinking)]
  return {
    ...(adjusted === undefined ? {} : { "x-gateway-adjusted": adjusted }),
    ...(thinkingAdjusted === undefined ? {} : { "x-gateway-thinking-adjusted": thinkingAdjusted })
  }
}
