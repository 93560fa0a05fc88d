/** Counts of this month and of today, rebuilt from usage records (docs/operation.md#redis). */
import type { Charge } from "../../limits/Ledger.ts"
import { accountOf, dayAt, keyUser, lastUseAccount, monthAt, type Period, teamUser } from "../../limits/limits.ts"
import type { Place } from "./summary.ts"
import { makeRecordReader, type UsedRecord } from "./usedRecord.ts"

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

  const put = (charge: Charge, merge: (before: number, amount: number) => number): void => {
    const { account, amount } = charge
    const before = sums.get(account.name)
    if (amount === 0 || (before === undefined && sums.size >= most)) return
    sums.set(account.name, before === undefined ? charge : { account, amount: merge(before.amount, amount) })
  }
  const add = (user: string, period: Period, { cost, tokens }: UsedRecord): void => {
    const plus = (before: number, amount: number) => before + amount
    const used = count(tokens?.input) + count(tokens?.output)
    put({ account: accountOf(user, period, "tokens"), amount: used }, plus)
    put({ account: accountOf(user, period, "cost"), amount: count(cost) }, plus)
  }

  return {
    line: (line: string | undefined): void => {
      const found = read(line)
      if (found === "damaged") damaged++
      if (found === undefined || typeof found === "string") return
      const { record, time } = found
      if (record.key_id === null) return
      records++
      const key = keyUser(record.key_id)
      put({ account: lastUseAccount(key), amount: Date.parse(time) }, Math.max)
      const users = [key, ...(typeof record.team === "string" ? [teamUser(record.team)] : [])]
      for (const period of [monthAt(now), dayAt(now)]) {
        if (time.startsWith(period.name)) for (const user of users) add(user, period, record)
      }
    },
    damage: (_: Place): void => {
      damaged++
    },
    result: () => ({ counts: [...sums.values()], records, damaged })
  }
}
