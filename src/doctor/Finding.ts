/** What a check of the setup finds, and how checks are run: side by side, each with a deadline. */
import { Cause, Duration, Effect, type FileSystem, type Scope } from "effect"

export interface Finding {
  readonly state: "ok" | "warn" | "fail"
  /** What was looked at: `redis`, `credentials vertex`. */
  readonly check: string
  /** What is so. It holds no secret. */
  readonly what: string
  /** What the operator can do; absent where nothing needs to be done. */
  readonly mend?: string | undefined
}

/** What a check says, without its name. */
export type Found = Omit<Finding, "check">
export const ok = (what: string): Found => ({ state: "ok", what })
export const warn = (what: string, mend: string): Found => ({ state: "warn", what, mend })
export const fail = (what: string, mend: string): Found => ({ state: "fail", what, mend })

type Needs = FileSystem.FileSystem | Scope.Scope

export interface Check {
  readonly name: string
  readonly look: Effect.Effect<Found | ReadonlyArray<Found>, { readonly message: string }, Needs>
  /** Default 8 seconds. */
  readonly within?: Duration.Duration | undefined
}

const patience = Duration.seconds(8)

const isMany = (said: Found | ReadonlyArray<Found>): said is ReadonlyArray<Found> => Array.isArray(said)

/** One line, without control characters: some of it comes from other machines. */
const line = (text: string): string =>
  text
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, 1000)

/** A check never fails: what it cannot find out is a finding, too. */
const run = ({ name, look, within = patience }: Check): Effect.Effect<ReadonlyArray<Finding>, never, Needs> =>
  look.pipe(
    Effect.timeoutOrElse({
      duration: within,
      orElse: () =>
        Effect.succeed(
          fail(`no answer within ${Duration.toSeconds(within)} s`, "Look at the network between here and there.")
        )
    }),
    Effect.catchCause((cause): Effect.Effect<Found> => {
      const error = Cause.squash(cause)
      const message = typeof error === "object" && error !== null && "message" in error ? error.message : error
      return Effect.succeed(fail(String(message), "Mend what the message says, and look again."))
    }),
    Effect.map((said) =>
      (isMany(said) ? said : [said]).map(({ state, what, mend }) => ({
        state,
        check: name,
        what: line(what),
        ...(mend === undefined ? {} : { mend: line(mend) })
      }))
    )
  )

/** Everything at once; the findings come in the order of the checks. */
export const runChecks = (checks: ReadonlyArray<Check>): Effect.Effect<ReadonlyArray<Finding>, never, Needs> =>
  Effect.map(Effect.forEach(checks, run, { concurrency: "unbounded" }), (found) => found.flat())
