/**
 * Limits and quotas of one machine: a SQLite file that the gateway's processes there share (docs/decisions.md#limits-and-quotas).
 * Containers do not see each other's processes, so they share Redis, not this file.
 *
 * Every change is committed to the write-ahead log before the call returns, so a killed process loses nothing that was settled.
 * The log is flushed to the disk at checkpoints only (`synchronous=NORMAL`): a power failure can lose the last moments, but
 * never damages the file. A commit takes some tens of microseconds and blocks the process for that long.
 */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Array as Arr, Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { codeOf, countDiskFailure, makeFolder, writeProblem } from "./files.ts"
import { type Account, type Demand, type Held, Ledger, LedgerError, type Standing } from "./Ledger.ts"
import { day, lastUseAccount } from "./limits.ts"
import { boardMemory, StatusBoard } from "./replicas.ts"

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, spent INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS hold (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, amount INTEGER NOT NULL, expires INTEGER NOT NULL, process INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS hold_of_account ON hold (account, expires, amount);
  CREATE TABLE IF NOT EXISTS status (id TEXT PRIMARY KEY, text TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS draining (name TEXT PRIMARY KEY, spent REAL NOT NULL, at REAL NOT NULL) STRICT;
`

/** The longest that another process may hold up this one, in milliseconds; then the call waits without blocking. */
const busyTimeout = 20
const patience = Schedule.spaced("10 millis").pipe(Schedule.upTo({ duration: "5 seconds" }))
/** SQLite's code. */
const busy = 5

const attempt = <A>(run: () => A): Effect.Effect<A, LedgerError> =>
  Effect.try({ try: run, catch: (cause) => cause }).pipe(
    Effect.retry({ while: (cause) => codeOf(cause) === busy, schedule: patience }),
    Effect.mapError((cause) => {
      countDiskFailure("state", cause)
      return new LedgerError({ message: writeProblem(cause) })
    })
  )

const isRunning = (id: number): boolean => {
  try {
    process.kill(id, 0)
    return true
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

const prepare = (database: DatabaseSync, path: string): void => {
  database.exec(schema)
  // Holds of processes that are gone come back now, not at the end of their lease. A process starts without any, so holds
  // under its own number are an earlier one's (in a container it is always the same number).
  for (const { process: owner } of database.prepare("SELECT DISTINCT process FROM hold").all()) {
    const gone = Number(owner) === process.pid ? path !== ":memory:" : !isRunning(Number(owner))
    if (gone) database.prepare("DELETE FROM hold WHERE process = ?").run(Number(owner))
  }
}

/** Removes what counts no more, as Redis does by itself. `now` is in milliseconds since the epoch. */
const removeOld = (database: DatabaseSync, now: number): void => {
  // By then, accounts of a day (`<key id>:2026-11-22`) and of a month are of no use.
  const oldest = day(now - 40 * 86_400_000)
  for (const end of [oldest, oldest.slice(0, 7)]) {
    const shape = `*:${end.replaceAll(/\d/g, "[0-9]")}`
    database.prepare("DELETE FROM account WHERE name GLOB ? AND substr(name, ?) < ?").run(shape, -end.length, end)
  }
  const { keep, name } = lastUseAccount("*")
  database.prepare("DELETE FROM account WHERE name GLOB ? AND spent < ?").run(name, now - Duration.toMillis(keep))
  // All of a minute's limit is free again.
  database.prepare("DELETE FROM draining WHERE at < ?").run(now - 3_600_000)
}

/** A hold is a row for each of its accounts. */
const rowOf = (id: string, n: number): string => (n === 0 ? id : `${id}/${n}`)

const spentOf = (database: DatabaseSync) => {
  const named = database.prepare("SELECT name, spent FROM account WHERE name IN (SELECT value FROM json_each(?))")
  return (names: ReadonlyArray<string>): ReadonlyArray<number> => {
    const spent = new Map(named.all(JSON.stringify(names)).map(({ name, spent }) => [name, Number(spent)]))
    return names.map((name) => spent.get(name) ?? 0)
  }
}

const make = (database: DatabaseSync) => {
  const standing = database.prepare(
    `SELECT coalesce((SELECT spent FROM account WHERE name = :account), 0) AS spent,
            (SELECT coalesce(sum(amount), 0) FROM hold WHERE account = :account AND expires > :now) AS held`
  )
  const insert = database.prepare("INSERT INTO hold VALUES (?, ?, ?, ?, ?)")
  const release = database.prepare("DELETE FROM hold WHERE id = ? AND account = ? RETURNING amount")
  const spend = database.prepare(
    "INSERT INTO account VALUES (?, ?) ON CONFLICT DO UPDATE SET spent = spent + excluded.spent"
  )
  const lift = database.prepare(
    "INSERT INTO account VALUES (?, ?) ON CONFLICT DO UPDATE SET spent = max(spent, excluded.spent)"
  )
  const spent = spentOf(database)
  const draining = database.prepare("SELECT spent, at FROM draining WHERE name = ?")
  const setDraining = database.prepare("INSERT OR REPLACE INTO draining VALUES (?, ?, ?)")

  const atomic = <A>(run: (now: number) => A): Effect.Effect<A, LedgerError> =>
    Clock.clockWith((clock) =>
      attempt(() => {
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

  const standingOf = ({ drain, name }: Account, now: number): Standing => {
    if (drain === undefined) {
      const row = standing.get({ account: name, now })
      return { spent: Number(row?.spent), held: Number(row?.held) }
    }
    const { at = now, spent = 0 } = draining.get(name) ?? {}
    const elapsed = now - Number(at)
    // From the future, by a clock that was set back: full, not frozen until then.
    return { spent: elapsed < 0 ? 0 : Math.max(0, Number(spent) - elapsed * drain), held: 0 }
  }
  const charge = (account: Account, amount: number, now: number): void => {
    if (account.drain !== undefined) {
      setDraining.run(account.name, Math.max(0, standingOf(account, now).spent + amount), now)
    } else if (amount > 0) spend.run(account.name, amount)
  }
  /** Gives each demand what it gets, where all of them fit. */
  const grant = (
    demands: ReadonlyArray<Demand>,
    give: (account: Account, amount: number, now: number, n: number) => void
  ) =>
    atomic((now): Held => {
      const shares = demands.map(({ account, amount, limit }) => {
        const before = standingOf(account, now)
        return { ...before, amount: Math.floor(Math.min(amount, limit - before.spent - before.held)) }
      })
      const given = Arr.zip(demands, shares)
      const granted = given.every(([{ least }, { amount }]) => amount >= least)
      if (granted) for (const [n, [{ account }, { amount }]] of given.entries()) give(account, amount, now, n)
      return { granted, shares }
    })

  return Ledger.of({
    alarms: new Set(),
    hold: ({ demands, id, lease }) =>
      grant(demands, (account, amount, now, n) => {
        insert.run(rowOf(id, n), account.name, amount, now + Math.ceil(Duration.toMillis(lease)), process.pid)
        if (account.drain !== undefined) charge(account, amount, now)
      }),
    settle: (id, charges) =>
      atomic((now) => {
        for (const [n, { account, amount }] of charges.entries()) {
          const row = release.get(rowOf(id, n), account.name)
          if (row !== undefined)
            charge(account, account.drain === undefined ? amount : amount - Number(row.amount), now)
        }
      }),
    raise: (amounts) =>
      atomic(() => {
        for (const { account, amount } of amounts) lift.run(account.name, amount)
      }),
    spent: (names) => attempt(() => spent(names)),
    take: (demands) => grant(demands, charge)
  })
}

const inWords = (words: (message: string) => string) =>
  Effect.mapError(({ message }: LedgerError) => new LedgerError({ message: words(message) }))

const explain = (path: string) =>
  inWords(
    (why) =>
      `GATEWAY_STATE_DIR: cannot open ${path}: ${why}. Without the file, or in another directory, the month's counts start from zero.`
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
    read: attempt(() => {
      const now = Date.now()
      put.run(watched, "", now)
      return posts.all(watched, now - boardMemory).map(({ text }) => String(text))
    }),
    post: (id, text) =>
      attempt(() => {
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
  yield* explain(path)(attempt(() => prepare(database, path)))
  const cleaning = Effect.flatMap(Clock.currentTimeMillis, (now) => attempt(() => removeOld(database, now)))
  yield* cleaning.pipe(Effect.ignore, Effect.repeat(Schedule.spaced("1 day")), Effect.forkScoped)
  return Context.make(Ledger, make(database)).pipe(Context.add(StatusBoard, makeStatusBoard(database)))
})

/** Counts that end with the process: for the sandbox and tests. */
export const layerMemory = Layer.effectContext(openStore(":memory:"))

export const quotaFile = (directory: string): string => join(directory, "quota.sqlite")

/** What was spent, read without a change of the file. */
export const readSpent = (directory: string, names: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.flatMap(openFile(quotaFile(directory), true), (database) => attempt(() => spentOf(database)(names)))
  )

/** Counts in `<directory>/quota.sqlite`, which is made when it is missing (`GATEWAY_STATE_DIR`). */
export const layerFile = (directory: string) =>
  Layer.effectContext(
    attempt(() => makeFolder(directory)).pipe(
      inWords(
        (why) =>
          `cannot make the directory ${directory}: ${why}. Set GATEWAY_STATE_DIR to one that can be written, or GATEWAY_REDIS_URL to a Redis`
      ),
      Effect.andThen(openStore(quotaFile(directory)))
    )
  )
