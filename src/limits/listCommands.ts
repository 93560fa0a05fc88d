/** What `keys list` and `teams list` print: keys and teams with their limits and what they used (docs/operation.md#keys). */
import { DateTime, Effect, Result } from "effect"
import { type Key, type KeyBook, readBook, type Team } from "./KeyFile.ts"
import { minute } from "./keysCommand.ts"
import type { Ledger, LedgerError } from "./Ledger.ts"
import { money, orAll, orNone, table } from "./table.ts"
import { type UsageTotals, type Use, usageTotalsOf } from "./usageTotals.ts"

export interface ListOptions {
  readonly json: boolean
  /** Where the counts are read; fails where they cannot be, with the reason. */
  readonly spent: Ledger["Service"]["spent"]
}

const status = (key: Key, now: DateTime.Utc): string => {
  if (key.revoked !== undefined) return `revoked ${minute(key.revoked)}`
  if (key.disabled !== undefined) return `disabled ${minute(key.disabled)}`
  if (key.expires === undefined) return "active"
  const ended = DateTime.toEpochMillis(key.expires) <= DateTime.toEpochMillis(now)
  return `${ended ? "expired" : "expires"} ${minute(key.expires)}`
}

/** The counts, or why there are none: then no count is shown, rather than 0. */
const readTotals = ({ spent }: ListOptions, book: KeyBook, now: DateTime.Utc) =>
  Effect.result(usageTotalsOf({ spent }, book, DateTime.toEpochMillis(now)))

const reasonOf = (totals: Result.Result<UsageTotals, LedgerError>): string | undefined =>
  Result.isFailure(totals) ? totals.failure.message : undefined

const warning = (totals: Result.Result<UsageTotals, LedgerError>): string => {
  const reason = reasonOf(totals)
  return reason === undefined ? "" : `\nWhat was used this month is not shown: ${reason}\n`
}

const asJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** A key without its digests. */
const shownKey = ({ digest: _, previous, created, acknowledged, disabled, expires, revoked, ...key }: Key) => ({
  ...key,
  created: DateTime.formatIso(created),
  acknowledged: DateTime.formatIso(acknowledged),
  expires: expires === undefined ? undefined : DateTime.formatIso(expires),
  disabled: disabled === undefined ? undefined : DateTime.formatIso(disabled),
  revoked: revoked === undefined ? undefined : DateTime.formatIso(revoked),
  rotatedUntil: previous === undefined ? undefined : DateTime.formatIso(previous.until)
})

const useCells = (use: Use | undefined, daily: number | undefined): ReadonlyArray<string> =>
  use === undefined
    ? ["?", "?", "?"]
    : [daily === undefined ? "-" : String(use.dailyTokens), money(use.monthlyCost), String(use.monthlyTokens)]

const useHeads = ["USED TODAY", "COST", "USED"]

/** All keys, without their secrets. */
export const listKeys = Effect.fnUntraced(function* (file: string, options: ListOptions) {
  const now = yield* DateTime.now
  const book = yield* readBook(file)
  const { keys } = book
  const totals = yield* readTotals(options, { ...book, teams: [] }, now)
  const useAt = (n: number) => (Result.isSuccess(totals) ? totals.success.keys[n] : undefined)
  if (options.json) {
    return asJson({
      keys: keys.map((key, n) => ({ ...shownKey(key), status: status(key, now), use: useAt(n) ?? null })),
      unavailable: reasonOf(totals)
    })
  }
  if (keys.length === 0) return `There are no keys in ${file}. Create one: npm run gateway -- keys create --name NAME\n`
  const heads = ["ID", "NAME", "STATUS", "TEAM", "OWNER", "MODELS", "LEVELS", "RPM", "STREAMS", "TOKENS/DAY"]
  const rows = keys.map((key, n) => [
    key.id,
    key.name,
    status(key, now),
    orNone(key.team),
    orNone(key.owner),
    orAll(key.models),
    orAll(key.levels),
    orNone(key.requestsPerMinute),
    orNone(key.streams),
    orNone(key.dailyTokens),
    orNone(key.monthlyTokens),
    ...useCells(useAt(n), key.dailyTokens)
  ])
  return table([[...heads, "TOKENS/MONTH", ...useHeads], ...rows]) + warning(totals)
})

const keysIn = ({ name }: Team, { keys }: KeyBook): number =>
  keys.filter(({ revoked, team }) => team === name && revoked === undefined).length

/** All teams. */
export const listTeams = Effect.fnUntraced(function* (file: string, options: ListOptions) {
  const now = yield* DateTime.now
  const book = yield* readBook(file)
  const { teams } = book
  const totals = yield* readTotals(options, { keys: [], teams }, now)
  const useAt = (n: number) => (Result.isSuccess(totals) ? totals.success.teams[n] : undefined)
  if (options.json) {
    return asJson({
      teams: teams.map((team, n) => ({ ...team, keys: keysIn(team, book), use: useAt(n) ?? null })),
      unavailable: reasonOf(totals)
    })
  }
  if (teams.length === 0) return `There are no teams in ${file}. Create one: npm run gateway -- teams create NAME\n`
  const heads = ["TEAM", "KEYS", "RPM", "STREAMS", "TOKENS/DAY", "TOKENS/MONTH", "COST/MONTH"]
  const rows = teams.map((team, n) => [
    team.name,
    String(keysIn(team, book)),
    orNone(team.requestsPerMinute),
    orNone(team.streams),
    orNone(team.dailyTokens),
    orNone(team.monthlyTokens),
    orNone(team.monthlyCost),
    ...useCells(useAt(n), team.dailyTokens)
  ])
  return table([[...heads, ...useHeads], ...rows]) + warning(totals)
})
