/** What `keys list` and `teams list` print: keys and teams with their limits and what they used (docs/operation.md#keys). */
import { DateTime, Effect, Result } from "effect"
import type { Limits } from "../../contract/Security.ts"
import { type Key, type KeyBook, readBook, type Team } from "../../limits/KeyFile.ts"
import type { Ledger, LedgerError } from "../../limits/Ledger.ts"
import { limitKinds, limitNames } from "../../limits/limits.ts"
import { type UsageTotals, type Use, usageTotalsOf } from "../../limits/usageTotals.ts"
import { money, orAll, orNone, table } from "../table.ts"
import { minute } from "./keysCommand.ts"

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

const limitHeads = limitNames.map((name) => limitKinds[name].option.toUpperCase())
const limitCells = (of: Limits): ReadonlyArray<string> => limitNames.map((name) => orNone(of[name]))

const useHeads = ["USED TODAY", "COST TODAY", "USED", "COST"]
/** Today's are counted where they are limited. */
const useCells = (use: Use | undefined, { dailyCost, dailyTokens }: Limits): ReadonlyArray<string> =>
  use === undefined
    ? useHeads.map(() => "?")
    : [
        dailyTokens === undefined ? "-" : String(use.dailyTokens),
        dailyCost === undefined ? "-" : money(use.dailyCost),
        String(use.monthlyTokens),
        money(use.monthlyCost)
      ]

/** Without columns in which no row has anything. */
const shortTable = ([heads = [], ...rows]: ReadonlyArray<ReadonlyArray<string>>): string => {
  const isUsed = (_: string, at: number) => rows.some((row) => row[at] !== "-" && row[at] !== "all")
  return table([heads.filter(isUsed), ...rows.map((row) => row.filter(isUsed))])
}

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
  const heads = ["ID", "NAME", "STATUS", "TEAM", "OWNER", "MODELS", "LEVELS", ...limitHeads, ...useHeads]
  const rows = keys.map((key, n) => [
    key.id,
    key.name,
    status(key, now),
    orNone(key.team),
    orNone(key.owner),
    orAll(key.models),
    orAll(key.levels),
    ...limitCells(key),
    ...useCells(useAt(n), key)
  ])
  return shortTable([heads, ...rows]) + warning(totals)
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
  const heads = ["TEAM", "KEYS", ...limitHeads, ...useHeads]
  const rows = teams.map((team, n) => [
    ...[team.name, String(keysIn(team, book))],
    ...limitCells(team),
    ...useCells(useAt(n), team)
  ])
  return shortTable([heads, ...rows]) + warning(totals)
})
