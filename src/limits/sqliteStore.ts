/**
 * Limits and quotas of one machine: a SQLite file that the gateway's processes there share (docs/decisions.md#limits-and-quotas).
 * Containers do not see each other's processes, so they share Redis, not this file.
 *
 * Every change is committed to the write-ahead log before the call returns, so a killed process loses nothing that was settled.
 * The log is flushed to the disk at checkpoints only (`synchronous=NORMAL`): a power failure can lose the last moments, but
 * never damages the file. A commit takes some tens of microseconds and blocks the process for that long.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { countDiskFailure, writeProblem } from "./disk.ts"
import { bucketWindow, type Demand, Ledger, LedgerError, type Share } from "./Ledger.ts"
import { boardMemory, StatusBoard } from "./StatusBoard.ts"

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, spent INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS hold (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, amount INTEGER NOT NULL, expires INTEGER NOT NULL, process INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS hold_of_account ON hold (account, expires, amount);
  CREATE TABLE IF NOT EXISTS status (id TEXT PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS bucket (key TEXT PRIMARY KEY, tokens REAL NOT NULL, refilled REAL NOT NULL) STRICT;
`

/** The longest that another process may hold up this one, in milliseconds; then the call waits without blocking. */
const busyTimeout = 20
const busy: Schedule.Schedule<unknown> = Schedule.spaced("10 millis").pipe(Schedule.upTo({ duration: "5 seconds" }))

class Busy extends LedgerError {}

/** SQLITE_BUSY, and those that extend it. */
const isBusy = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && "errcode" in cause && (Number(cause.errcode) & 0xff) === 5

const attempt = <A>(run: () => A): Effect.Effect<A, LedgerError> =>
  Effect.try({
    try: run,
    catch: (cause) => {
      countDiskFailure("state", cause)
      const message = writeProblem(cause)
      return isBusy(cause) ? new Busy({ message }) : new LedgerError({ message })
    }
  })

const patiently = <A>(run: () => A): Effect.Effect<A, LedgerError> =>
  Effect.catchIf(
    attempt(run),
    (error) => error instanceof Busy,
    () => Effect.retry(attempt(run), { while: (error) => error instanceof Busy, schedule: busy })
  )

const isRunning = (process_: number): boolean => {
  try {
    process.kill(process_, 0)
    return true
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

/** Accounts of a day (`<key id>:2026-11-22`) are of no use for longer. */
const daysKept = 40

const prepare = (database: DatabaseSync, path: string): void => {
  database.exec(schema)
  // Holds of processes that are gone come back now, not at the end of their lease. A process starts without any, so holds
  // under its own number are an earlier one's (in a container it is always the same number).
  for (const { process: owner } of database.prepare("SELECT DISTINCT process FROM hold").all()) {
    const gone = Number(owner) === process.pid ? path !== ":memory:" : !isRunning(Number(owner))
    if (gone) database.prepare("DELETE FROM hold WHERE process = ?").run(Number(owner))
  }
  const days = new Date(Date.now() - daysKept * 86_400_000).toISOString().slice(0, 10)
  database
    .prepare(
      "DELETE FROM account WHERE name GLOB '*:[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' AND substr(name, -10) < ?"
    )
    .run(days)
}

/** A hold is a row for each of its accounts. */
const rowOf = (id: string, n: number): string => (n === 0 ? id : `${id}/${n}`)

const spentOf = (database: DatabaseSync) => {
  const spent = database.prepare("SELECT spent FROM account WHERE name = ?")
  return (names: ReadonlyArray<string>): ReadonlyArray<number> =>
    names.map((name) => Number(spent.get(name)?.spent ?? 0))
}

const make = (database: DatabaseSync) => {
  const standing = database.prepare(
    `SELECT coalesce((SELECT spent FROM account WHERE name = :account), 0) AS spent,
       coalesce((SELECT sum(amount) FROM hold WHERE account = :account AND expires > :now), 0) AS held`
  )
  const insert = database.prepare("INSERT INTO hold VALUES (?, ?, ?, ?, ?)")
  const release = database.prepare("DELETE FROM hold WHERE id = ? AND account = ?")
  const spend = database.prepare(
    "INSERT INTO account VALUES (?, ?) ON CONFLICT DO UPDATE SET spent = spent + excluded.spent"
  )
  const spent = spentOf(database)
  const bucket = database.prepare("SELECT tokens, refilled FROM bucket WHERE key = ?")
  const fill = database.prepare("INSERT OR REPLACE INTO bucket VALUES (?, ?, ?)")

  const atomic = <A>(run: (now: number) => A): Effect.Effect<A, LedgerError> =>
    Clock.clockWith((clock) =>
      patiently(() => {
        database.exec("BEGIN IMMEDIATE")
        try {
          // Looked up within the lock: later steps have later times.
          const result = run(clock.currentTimeMillisUnsafe())
          database.exec("COMMIT")
          return result
        } catch (error) {
          // SQLite has done so itself where the disk is full.
          if (database.isTransaction) database.exec("ROLLBACK")
          throw error
        }
      })
    )

  const shareOf = ({ account, amount, limit }: Demand, now: number): Share => {
    const row = standing.get({ account: account.name, now })
    const before = { spent: Number(row?.spent), held: Number(row?.held) }
    return { ...before, amount: Math.min(amount, limit - before.spent - before.held) }
  }

  return Ledger.of({
    hold: ({ demands, id, lease }) =>
      atomic((now) => {
        const shares = demands.map((demand) => shareOf(demand, now))
        const granted = demands.every(({ least }, n) => (shares[n]?.amount ?? -1) >= least)
        const expires = now + Math.ceil(Duration.toMillis(lease))
        if (granted) {
          for (const [n, { account }] of demands.entries()) {
            insert.run(rowOf(id, n), account.name, shares[n]?.amount ?? 0, expires, process.pid)
          }
        }
        return { granted, shares }
      }),
    settle: (id, charges) =>
      atomic(() => {
        for (const [n, { account, amount }] of charges.entries()) {
          if (Number(release.run(rowOf(id, n), account.name).changes) === 1 && amount > 0) {
            spend.run(account.name, amount)
          }
        }
      }),
    spent: (names) => patiently(() => spent(names)),
    take: (buckets) =>
      atomic((now) => {
        const left = buckets.map(({ limit, name }) => {
          const row = bucket.get(name)
          if (row === undefined) return limit
          const elapsed = now - Number(row.refilled)
          // From the future, by a clock that was set back: full, not frozen until then.
          return elapsed < 0 ? limit : Math.min(limit, Number(row.tokens) + (elapsed * limit) / bucketWindow)
        })
        const granted = left.every((tokens) => tokens >= 1)
        if (!granted) return { granted, left }
        for (const [n, { name }] of buckets.entries()) fill.run(name, (left[n] ?? 1) - 1, now)
        return { granted, left: left.map((tokens) => tokens - 1) }
      })
  })
}

const explain = (path: string) =>
  Effect.mapError(
    ({ message }: LedgerError) =>
      new LedgerError({
        message: `cannot open ${path}: ${message}. Without the file the month's counts start from zero.`
      })
  )

const openFile = (path: string, readOnly: boolean) =>
  Effect.acquireRelease(
    explain(path)(attempt(() => new DatabaseSync(path, { readOnly, timeout: busyTimeout }))),
    (database) => Effect.sync(() => database.close())
  )

/** The name of the row that says that a page is open. */
const watched = "watched"

const makeStatusBoard = (database: DatabaseSync) => {
  const forget = database.prepare("DELETE FROM status WHERE at < ?")
  const put = database.prepare("INSERT OR REPLACE INTO status VALUES (?, ?, ?)")
  const open = database.prepare("SELECT 1 FROM status WHERE id = ? AND at >= ?")
  const posts = database.prepare("SELECT text FROM status WHERE id <> ? AND at >= ?")
  return StatusBoard.of({
    read: patiently(() => {
      const now = Date.now()
      put.run(watched, "", now)
      return posts.all(watched, now - boardMemory).map(({ text }) => String(text))
    }),
    post: (id, text) =>
      patiently(() => {
        const now = Date.now()
        if (open.get(watched, now - boardMemory) === undefined) return false
        forget.run(now - boardMemory)
        put.run(id, text(), now)
        return true
      })
  })
}

const openStore = Effect.fnUntraced(function* (path: string) {
  const database = yield* openFile(path, false)
  // Processes that start together may meet while the file is made.
  yield* explain(path)(patiently(() => prepare(database, path)))
  return Context.make(Ledger, make(database)).pipe(Context.add(StatusBoard, makeStatusBoard(database)))
})

/** Counts that end with the process: for the sandbox and tests. */
export const layerMemory = Layer.effectContext(openStore(":memory:"))

export const quotaFile = (directory: string): string => join(directory, "quota.sqlite")

/** What was spent, read without a change of the file. */
export const readSpent = (directory: string, names: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.flatMap(openFile(quotaFile(directory), true), (database) => patiently(() => spentOf(database)(names)))
  )

/** Counts in `<directory>/quota.sqlite`, which is made when it is missing (`GATEWAY_STATE_DIR`). */
export const layerFile = (directory: string) =>
  Layer.effectContext(
    attempt(() => void mkdirSync(directory, { recursive: true, mode: 0o700 })).pipe(
      Effect.mapError(
        ({ message }) =>
          new LedgerError({
            message: `cannot make the directory ${directory}: ${message}. Set GATEWAY_STATE_DIR to one that can be written, or GATEWAY_REDIS_URL to a Redis`
          })
      ),
      Effect.andThen(openStore(quotaFile(directory)))
    )
  )
