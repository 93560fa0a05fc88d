/** What `keys list` and `teams list` print: keys and teams with their limits and what they used (docs/operation.md#keys). */
import { DateTime, Effect, Result } from "effect"
import type { Limits } from "../../contract/Security.ts"
import { encodeKey, isExpired, isOver, type Key, type KeyBook, readBook, type Team } from "../../limits/KeyFile.ts"
import type { Ledger, LedgerError } from "../../limits/Ledger.ts"
import { limitKinds, limitNames } from "../../limits/limits.ts"
import { type UsageTotals, type Use, usageTotalsOf } from "../../limits/usageTotals.ts"
import { fail } from "../../wire/OperatorError.ts"
import { money, orAll, orNone, table } from "../table.ts"
import { parseGiven, parseUnused } from "./keyOptions.ts"
import { minute } from "./keysCommand.ts"

export interface ListOptions {
  readonly json: boolean
  /** Where the counts are read; fails where they cannot be, with the reason. */
  readonly spent: Ledger["Service"]["spent"]
}

export interface ListKeysOptions extends ListOptions {
  /** Only keys that work and were not used for so long: `30d`. */
  readonly unused?: string | undefined
}

const refusal = ({ disabled, revoked }: Pick<Key, "disabled" | "revoked">): string | undefined => {
  if (revoked !== undefined) return `revoked ${minute(revoked)}`
  return disabled === undefined ? undefined : `disabled ${minute(disabled)}`
}

const status = (key: Key, now: DateTime.Utc): string => {
  const refused = refusal(key)
  if (refused !== undefined) return refused
  if (key.expires === undefined) return "active"
  return `${isExpired(key, DateTime.toEpochMillis(now)) ? "expired" : "expires"} ${minute(key.expires)}`
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
const shownKey = (key: Key) => {
  const { digest: _, previous, ...shown } = encodeKey(key)
  return { ...shown, rotatedUntil: previous?.until }
}

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

const timeOf = (millis: number) => DateTime.makeUnsafe(millis)
const lastUseCell = (use: Use | undefined): string =>
  use === undefined ? "?" : use.lastUse === 0 ? "-" : minute(timeOf(use.lastUse))

/** With a time, as the key has others. */
const shownUse = (use: Use | undefined) =>
  use === undefined ? null : { ...use, lastUse: use.lastUse === 0 ? null : DateTime.formatIso(timeOf(use.lastUse)) }

/** Keys that work, and were neither made nor used since then. Fails where their use is not known. */
const idleKeys = Effect.fnUntraced(function* (
  options: ListOptions,
  { keys }: KeyBook,
  now: DateTime.Utc,
  before: DateTime.Utc
) {
  const works = keys.filter((key) => !isOver(key, DateTime.toEpochMillis(now)))
  const totals = yield* readTotals(options, { keys: works, teams: [] }, now)
  if (Result.isFailure(totals))
    return yield* fail(`--unused: when keys were used is not known: ${totals.failure.message}`)
  return works.filter((key, n) => {
    const lastUse = totals.success.keys[n]?.lastUse ?? 0
    return Math.max(lastUse, DateTime.toEpochMillis(key.created)) < DateTime.toEpochMillis(before)
  })
})

/** Without columns in which no row has anything. */
const shortTable = ([heads = [], ...rows]: ReadonlyArray<ReadonlyArray<string>>): string => {
  const isUsed = (_: string, at: number) => rows.some((row) => row[at] !== "-" && row[at] !== "all")
  return table([heads.filter(isUsed), ...rows.map((row) => row.filter(isUsed))])
}

/** Callers without keys that are refused. */
const callersText = ({ callers = [] }: KeyBook): string =>
  callers.length === 0
    ? ""
    : `\n${table([["CALLER", "STATUS"], ...callers.map((caller) => [caller.id, refusal(caller) ?? ""])])}`

/** All keys, without their secrets, and the callers that are refused. */
export const listKeys = Effect.fnUntraced(function* (file: string, options: ListKeysOptions) {
  const now = yield* DateTime.now
  const before = yield* parseGiven(options.unused, parseUnused(now))
  const book = yield* readBook(file)
  const idle = before === undefined ? undefined : yield* idleKeys(options, book, now, before)
  const keys = idle ?? book.keys
  const totals = yield* readTotals(options, { keys, teams: [] }, now)
  const useAt = (n: number) => (Result.isSuccess(totals) ? totals.success.keys[n] : undefined)
  if (options.json) {
    return asJson({
      keys: keys.map((key, n) => ({ ...shownKey(key), status: status(key, now), use: shownUse(useAt(n)) })),
      callers:
        idle === undefined ? book.callers?.map((caller) => ({ id: caller.id, status: refusal(caller) })) : undefined,
      unavailable: reasonOf(totals)
    })
  }
  const callers = idle === undefined ? callersText(book) : ""
  if (keys.length === 0 && idle !== undefined) return `Every key that works was used within ${options.unused}.\n`
  if (keys.length === 0)
    return `There are no keys in ${file}. Create one: npm run gateway -- keys create --name NAME\n${callers}`
  const heads = ["ID", "NAME", "STATUS", "TEAM", "OWNER", "MODELS", "LEVELS", ...limitHeads, ...useHeads, "LAST USE"]
  const rows = keys.map((key, n) => [
    key.id,
    key.name,
    status(key, now),
    orNone(key.team),
    orNone(key.owner),
    orAll(key.models),
    orAll(key.levels),
    ...limitCells(key),
    ...useCells(useAt(n), key),
    lastUseCell(useAt(n))
  ])
  return shortTable([heads, ...rows]) + callers + warning(totals)
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
