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
import * as RateLimiter from "effect/persistence/RateLimiter"
import { Ledger, LedgerError } from "./Ledger.ts"

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, spent INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS hold (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, amount INTEGER NOT NULL, expires INTEGER NOT NULL, process INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS hold_account ON hold (account);
  CREATE TABLE IF NOT EXISTS bucket (key TEXT PRIMARY KEY, tokens REAL NOT NULL, refilled REAL NOT NULL) STRICT;
`

const attempt = <A>(run: () => A): Effect.Effect<A, LedgerError> =>
  Effect.try({
    try: run,
    catch: (cause) => new LedgerError({ message: cause instanceof Error ? cause.message : String(cause) })
  })

const isRunning = (process_: number): boolean => {
  try {
    process.kill(process_, 0)
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

const make = (database: DatabaseSync) => {
  const hold = database.prepare(
    `INSERT INTO hold SELECT :id, :account, :amount, :expires, :process
     WHERE :amount + coalesce((SELECT spent FROM account WHERE name = :account), 0)
       + coalesce((SELECT sum(amount) FROM hold WHERE account = :account AND expires > :now), 0) <= :limit`
  )
  const taken = database.prepare(
    `SELECT coalesce((SELECT spent FROM account WHERE name = :account), 0)
       + coalesce((SELECT sum(amount) FROM hold WHERE account = :account AND expires > :now), 0) AS amount`
  )
  const release = database.prepare("DELETE FROM hold WHERE id = ?")
  const spend = database.prepare(
    "INSERT INTO account VALUES (?, ?) ON CONFLICT DO UPDATE SET spent = spent + excluded.spent"
  )
  const spent = database.prepare("SELECT spent AS amount FROM account WHERE name = ?")
  const bucket = database.prepare("SELECT tokens, refilled FROM bucket WHERE key = ?")
  const fill = database.prepare("INSERT OR REPLACE INTO bucket VALUES (?, ?, ?)")

  const transaction = <A>(run: () => A): A => {
    database.exec("BEGIN IMMEDIATE")
    try {
      const result = run()
      database.exec("COMMIT")
      return result
    } catch (error) {
      database.exec("ROLLBACK")
      throw error
    }
  }

  const ledger = Ledger.of({
    hold: ({ account, amount, id, lease, limit }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        attempt(() => {
          const expires = now + Math.ceil(Duration.toMillis(lease))
          const { changes } = hold.run({ id, account: account.name, amount, expires, process: process.pid, now, limit })
          return {
            granted: Number(changes) === 1,
            left: Math.max(0, limit - Number(taken.get({ account: account.name, now })?.amount))
          }
        })
      ),
    settle: (account, id, amount) =>
      attempt(() =>
        transaction(() => {
          if (Number(release.run(id).changes) === 1 && amount > 0) spend.run(account.name, amount)
        })
      ),
    spent: ({ name }) => attempt(() => Number(spent.get(name)?.amount ?? 0))
  })

  const tokenBucket = (options: {
    readonly key: string
    readonly tokens: number
    readonly limit: number
    readonly refillRate: Duration.Duration
    readonly allowOverflow: boolean
  }) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      attempt(() =>
        transaction((): readonly [remaining: number, elapsedMillis: number] => {
          const step = Duration.toMillis(options.refillRate)
          const row = bucket.get(options.key)
          const refilled = Number(row?.refilled ?? now)
          // A clock that was set back must not freeze the bucket until it has caught up.
          const steps = Math.max(0, Math.floor((now - refilled) / step))
          const tokens = Math.min(options.limit, Number(row?.tokens ?? options.limit) + steps)
          const since = tokens >= options.limit || refilled > now ? now : refilled + steps * step
          const rest = tokens - options.tokens
          fill.run(options.key, rest >= 0 || options.allowOverflow ? rest : tokens, since)
          return [rest, now - since]
        })
      ).pipe(
        Effect.mapError(
          ({ message }) =>
            new RateLimiter.RateLimiterError({ reason: new RateLimiter.RateLimitStoreError({ message }) })
        )
      )
    )
  return { ledger, tokenBucket }
}

/** A ledger and the buckets of the rate limiter in a SQLite file, or in memory (`:memory:`); closed with the scope. */
export const makeSqliteStore = Effect.fnUntraced(function* (path: string) {
  const explain = Effect.mapError(
    ({ message }: LedgerError) =>
      new LedgerError({
        message: `cannot open ${path}: ${message}. Without the file the month's counts start from zero.`
      })
  )
  const database = yield* Effect.acquireRelease(
    explain(attempt(() => new DatabaseSync(path, { timeout: 1000 }))),
    (database) => Effect.sync(() => database.close())
  )
  yield* attempt(() => prepare(database, path)).pipe(
    // Processes that start together may meet while the file is made.
    Effect.retry({
      while: ({ message }) => message.includes("locked"),
      schedule: Schedule.spaced("50 millis").pipe(Schedule.upTo({ times: 20 }))
    }),
    explain
  )
  const { ledger, tokenBucket } = make(database)
  const memory = yield* RateLimiter.RateLimiterStore.pipe(Effect.provide(RateLimiter.layerStoreMemory))
  return Context.make(Ledger, ledger).pipe(
    Context.add(RateLimiter.RateLimiterStore, RateLimiter.RateLimiterStore.of({ ...memory, tokenBucket }))
  )
})

/** Counts that end with the process: for the sandbox and tests. */
export const layerMemory = Layer.effectContext(makeSqliteStore(":memory:"))

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
      Effect.andThen(makeSqliteStore(join(directory, "quota.sqlite")))
    )
  )
