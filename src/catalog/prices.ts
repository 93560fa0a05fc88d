/** What tokens cost (docs/decisions.md#prices). */
import type { Prices } from "./Catalog.ts"
import type { Tokens } from "./Tokens.ts"

/** A price has at most six digits after its point. */
const scale = 1_000_000

/** A cloud's nonsense must not overflow the sum. */
const most = 1e12
const whole = (count: number | undefined): bigint =>
  count !== undefined && count > 0 ? BigInt(Math.round(Math.min(count, most))) : 0n
const exact = (price: number): bigint => BigInt(Math.round(price * scale))

/** Parts of the input that have prices of their own are no more than all of it. */
const partOf = (part: bigint, rest: bigint): bigint => (part < rest ? part : rest)

/**
 * Millionths of the currency. A price is that of a million tokens, so it is that of one token in millionths. Exact, and rounded
 * half up once.
 */
export const costOf = (prices: Prices, { input, output, cached, cacheWrites, cacheWrites1h }: Tokens): number => {
  const all = whole(input)
  const read = partOf(whole(cached), all)
  const written = partOf(whole(cacheWrites), all - read)
  const hourly = partOf(whole(cacheWrites1h), written)
  const sum =
    (all - read - written) * exact(prices.input) +
    read * exact(prices.cacheRead ?? prices.input) +
    (written - hourly) * exact(prices.cacheWrite ?? prices.input) +
    hourly * (prices.cacheWrite1h === undefined ? 2n * exact(prices.input) : exact(prices.cacheWrite1h)) +
    whole(output) * exact(prices.output)
  return Number((sum + BigInt(scale / 2)) / BigInt(scale))
}
