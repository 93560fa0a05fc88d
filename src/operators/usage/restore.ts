/** Counts of this month and of today, rebuilt from usage records (docs/operation.md#redis). */
import type { Charge } from "../../limits/Ledger.ts"
import { accountOf, dayAt, keyUser, lastUseAccount, monthAt, teamUser } from "../../limits/limits.ts"
import { makeRecordReader } from "./usedRecord.ts"

const count = (value: unknown): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0

/** Keys and teams of their own; a gateway has as many. */
const most = 1_000_000

/** `now` is in milliseconds since the epoch. */
export const makeRestoring = (now: number) => {
  const sums = new Map<string, Charge>()
  const read = makeRecordReader()
  let records = 0
  let damaged = 0

  const put = ({ account, amount }: Charge, merge: (before: number, amount: number) => number): void => {
    const before = sums.get(account.name)
    if (amount === 0 || (before === undefined && sums.size >= most)) return
    sums.set(account.name, { account, amount: merge(before?.amount ?? 0, amount) })
  }
  const plus = (before: number, amount: number) => before + amount

  return {
    line: (line: string | undefined): void => {
      const found = read(line)
      if (found === "damaged") damaged++
      if (found === undefined || typeof found === "string") return
      const { cost, key_id, team, time, tokens } = found
      if (key_id === null) return
      records++
      const key = keyUser(key_id)
      put({ account: lastUseAccount(key), amount: Date.parse(time) }, Math.max)
      const used = count(tokens?.input) + count(tokens?.output)
      for (const period of [monthAt(now), dayAt(now)].filter(({ name }) => time.startsWith(name))) {
        for (const user of [key, ...(typeof team === "string" ? [teamUser(team)] : [])]) {
          put({ account: accountOf(user, period, "tokens"), amount: used }, plus)
          put({ account: accountOf(user, period, "cost"), amount: count(cost) }, plus)
        }
      }
    },
    damage: (): void => {
      damaged++
    },
    result: () => ({ counts: [...sums.values()], records, damaged })
  }
}
