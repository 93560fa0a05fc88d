/** What a check of the setup finds, how checks are run (in parallel, each with a deadline), and how findings are printed. */
import { Cause, Duration, Effect, type FileSystem, Predicate, type Scope } from "effect"
import { table } from "../table.ts"

export interface Finding {
  readonly state: "ok" | "warn" | "fail"
  /** What was checked: `redis`, `credentials vertex`. */
  readonly check: string
  /** Holds no secret. */
  readonly message: string
  /** What the operator can do; absent where nothing needs to be done. */
  readonly fix?: string | undefined
}

export type Found = Omit<Finding, "check">
export const ok = (message: string): Found => ({ state: "ok", message })
export const warn = (message: string, fix: string): Found => ({ state: "warn", message, fix })
export const fail = (message: string, fix: string): Found => ({ state: "fail", message, fix })

/** Says of a failure how it is fixed. */
export const orFail = (fix: string, consequence = "") =>
  Effect.catch(({ message }: { readonly message: string }) => Effect.succeed(fail(`${message}${consequence}`, fix)))

/** The same of what refuses a start. */
export const orStartFails = (fix: string) => orFail(fix, "; the start fails")

export const passed = (findings: ReadonlyArray<Finding>): boolean => findings.every(({ state }) => state !== "fail")

/** What is checked, and how; what cannot be found out is a finding, too. */
export type Check = readonly [
  check: string,
  find: Effect.Effect<Found | ReadonlyArray<Found>, { readonly message: string }, FileSystem.FileSystem | Scope.Scope>,
  deadline?: Duration.Duration
]

/** One line, without control characters: some of it comes from other machines. */
const line = (text: string): string =>
  text
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, 1000)

const runCheck = ([check, find, deadline = Duration.seconds(8)]: Check) => {
  const late = fail(`no answer within ${Duration.toSeconds(deadline)} s`, "Check the network on the way there.")
  return find.pipe(
    Effect.timeoutOrElse({ duration: deadline, orElse: () => Effect.succeed(late) }),
    Effect.catchCause((cause) => {
      const error = Cause.squash(cause)
      const message = Predicate.hasProperty(error, "message") ? error.message : error
      return Effect.succeed(fail(String(message), "Fix what the message names, and check again."))
    }),
    Effect.map((found) =>
      [found]
        .flat()
        .map(({ fix, message, state }): Finding => ({ state, check, message: line(message), fix: fix && line(fix) }))
    )
  )
}

/** In parallel; the findings come in the order of the checks. */
export const runChecks = (checks: ReadonlyArray<Check>) =>
  Effect.map(Effect.forEach(checks, runCheck, { concurrency: "unbounded" }), (found) => found.flat())

export const reportText = (findings: ReadonlyArray<Finding>): string => {
  const rows = findings.flatMap(({ check, fix, message, state }, at) => [
    [state, check === findings[at - 1]?.check ? "" : check, message],
    ...(fix === undefined ? [] : [["", "", `-> ${fix}`]])
  ])
  const count = (state: Finding["state"]) => `${findings.filter((finding) => finding.state === state).length} ${state}`
  return `${table(rows)}\n${(["fail", "warn", "ok"] as const).map(count).join(", ")}`
}

export const reportJson = (findings: ReadonlyArray<Finding>): string => {
  const all = findings.map((finding) => ({ ok: passed([finding]), ...finding }))
  return JSON.stringify({ ok: passed(findings), findings: all }, null, 2)
}
