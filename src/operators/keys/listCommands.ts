/** What `keys list` and `teams list` print: keys and teams with their limits and what they used (docs/operation.md#keys). */
import { Clock, DateTime, Effect } from "effect"
import type { Limits } from "../../contract/Security.ts"
import { encodeKey, isExpired, isOver, type Key, type KeyBook, readBook, type Team } from "../../limits/KeyFile.ts"
import type { Ledger } from "../../limits/Ledger.ts"
import { type LimitName, limitKinds, limitNames } from "../../limits/limits.ts"
import { type Use, type Users, usageTotalsOf } from "../../limits/usageTotals.ts"
import { fail } from "../../wire/OperatorError.ts"
import { table } from "../table.ts"
import { parseGiven, parseUnused } from "./keyOptions.ts"
import { minute } from "./keysCommand.ts"
import { keysOf } from "./teamsCommand.ts"

interface ListOptions {
  readonly json: boolean
  /** Where the counts are read; fails where they cannot be, with the reason. */
  readonly spent: Ledger["Service"]["spent"]
}

const refusal = ({ disabled, revoked }: Pick<Key, "disabled" | "revoked">): string | undefined => {
  if (revoked !== undefined) return `revoked ${minute(revoked)}`
  return disabled === undefined ? undefined : `disabled ${minute(disabled)}`
}

const status = (key: Key, now: number): string => {
  const { expires } = key
  const end = expires === undefined ? "active" : `${isExpired(key, now) ? "expired" : "expires"} ${minute(expires)}`
  return refusal(key) ?? end
}

/** `unavailable`: why there are no counts; then none is shown, rather than 0. */
const readTotals = ({ spent }: ListOptions, users: Users, now: number) =>
  Effect.match(usageTotalsOf({ spent }, users, now), {
    onFailure: ({ message }) => ({ keys: [], teams: [], unavailable: message }),
    onSuccess: (totals) => ({ ...totals, unavailable: undefined })
  })

const warning = (unavailable: string | undefined): string =>
  unavailable === undefined ? "" : `\nWhat was used this month is not shown: ${unavailable}\n`

const asJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const shownKey = (key: Key) => {
  const { digest: _, previous, ...shown } = encodeKey(key)
  return { ...shown, rotatedUntil: previous?.until }
}

const orAll = (items: ReadonlyArray<string> | undefined): string => items?.join(",") ?? "all"
const orNone = (value: string | number | undefined): string => value?.toString() ?? "-"

/** Millionths, as units with cents, not rounded up. */
const money = (millionths: number): string => (Math.floor(millionths / 10_000) / 100).toFixed(2)

type Column<A> = readonly [head: string, cell: (of: A, use: Use | undefined) => string]
/** `limit`: what is counted only where it is limited. */
const used = (head: string, cell: (use: Use) => string, limit?: LimitName): Column<Limits> => [
  head,
  (of, use) => {
    if (limit !== undefined && of[limit] === undefined) return "-"
    return use === undefined ? "?" : cell(use)
  }
]

const limitColumns: ReadonlyArray<Column<Limits>> = [
  ...limitNames.map((name): Column<Limits> => [limitKinds[name].option.toUpperCase(), (of) => orNone(of[name])]),
  used("USED TODAY", ({ dailyTokens }) => String(dailyTokens), "dailyTokens"),
  used("COST TODAY", ({ dailyCost }) => money(dailyCost), "dailyCost"),
  used("USED", ({ monthlyTokens }) => String(monthlyTokens)),
  used("COST", ({ monthlyCost }) => money(monthlyCost))
]

const timeOf = (millis: number) => DateTime.makeUnsafe(millis)
/** What is not counted, because it is not limited, is absent: it is not 0. */
const countedUse = (of: Limits, { dailyCost, dailyTokens, monthlyCost, monthlyTokens }: Use) => ({
  monthlyTokens,
  monthlyCost,
  dailyTokens: of.dailyTokens && dailyTokens,
  dailyCost: of.dailyCost && dailyCost
})
/** With a time, as the key has others. */
const lastUseOf = ({ lastUse }: Use) => (lastUse === 0 ? null : DateTime.formatIso(timeOf(lastUse)))

/** Keys that work, and were neither made nor used in the last `span` milliseconds. Fails where their use is not known. */
const idleKeys = Effect.fnUntraced(function* (options: ListOptions, { keys }: KeyBook, now: number, span: number) {
  const works = keys.filter((key) => !isOver(key, now))
  const totals = yield* readTotals(options, { keys: works, teams: [] }, now)
  if (totals.unavailable !== undefined) {
    return yield* fail(`--unused: when keys were used is not known: ${totals.unavailable}`)
  }
  return works.filter(
    ({ created }, n) => Math.max(totals.keys[n]?.lastUse ?? 0, DateTime.toEpochMillis(created)) < now - span
  )
})

/** One row each, without columns in which no row has anything. */
const listTable = <A>(items: ReadonlyArray<A>, uses: ReadonlyArray<Use>, columns: ReadonlyArray<Column<A>>): string => {
  const rows = items.map((item, n) => columns.map(([, cell]) => cell(item, uses[n])))
  const isUsed = columns.map((_, at) => rows.some((row) => row[at] !== "-" && row[at] !== "all"))
  return table([columns.map(([head]) => head), ...rows].map((row) => row.filter((_, at) => isUsed[at])))
}

const callersText = (callers: KeyBook["callers"] = []): string =>
  callers.length === 0
    ? ""
    : `\n${table([["CALLER", "STATUS"], ...callers.map((caller) => [caller.id, refusal(caller) ?? ""])])}`

/**
 * All keys, without their secrets, and the callers that are refused; with `unused` only keys that work and were not used for so
 * long: `30d`.
 */
export const listKeys = Effect.fnUntraced(function* (
  file: string,
  options: ListOptions & { readonly unused?: string | undefined }
) {
  const now = yield* Clock.currentTimeMillis
  const span = yield* parseGiven(options.unused, parseUnused)
  const book = yield* readBook(file)
  const { callers, keys } =
    span === undefined ? book : { callers: undefined, keys: yield* idleKeys(options, book, now, span) }
  const totals = yield* readTotals(options, { keys, teams: [] }, now)
  if (options.json) {
    return asJson({
      keys: keys.map((key, n) => {
        const use = totals.keys[n]
        const shown = use === undefined ? null : { ...countedUse(key, use), lastUse: lastUseOf(use) }
        return { ...shownKey(key), status: status(key, now), use: shown }
      }),
      callers: callers?.map((caller) => ({ id: caller.id, status: refusal(caller) })),
      unavailable: totals.unavailable
    })
  }
  if (keys.length === 0) {
    return span === undefined
      ? `There are no keys in ${file}. Create one: npm run gateway -- keys create --name NAME\n${callersText(callers)}`
      : `Every key that works was used within ${options.unused}.\n`
  }
  const shown = listTable<Key>(keys, totals.keys, [
    ["ID", ({ id }) => id],
    ["NAME", ({ name }) => name],
    ["STATUS", (key) => status(key, now)],
    ["TEAM", ({ team }) => orNone(team)],
    ["OWNER", ({ owner }) => orNone(owner)],
    ["MODELS", ({ models }) => orAll(models)],
    ["LEVELS", ({ levels }) => orAll(levels)],
    ...limitColumns,
    used("LAST USE", ({ lastUse }) => (lastUse === 0 ? "-" : minute(timeOf(lastUse))))
  ])
  return shown + callersText(callers) + warning(totals.unavailable)
})

export const listTeams = Effect.fnUntraced(function* (file: string, options: ListOptions) {
  const book = yield* readBook(file)
  const { teams } = book
  const totals = yield* readTotals(options, { keys: [], teams }, yield* Clock.currentTimeMillis)
  if (options.json) {
    return asJson({
      teams: teams.map((team, n) => {
        const use = totals.teams[n]
        return { ...team, keys: keysOf(team.name, book).length, use: use === undefined ? null : countedUse(team, use) }
      }),
      unavailable: totals.unavailable
    })
  }
  if (teams.length === 0) return `There are no teams in ${file}. Create one: npm run gateway -- teams create NAME\n`
  const shown = listTable<Team>(teams, totals.teams, [
    ["TEAM", ({ name }) => name],
    ["KEYS", ({ name }) => String(keysOf(name, book).length)],
    ...limitColumns
  ])
  return shown + warning(totals.unavailable)
})
