/** Ends a gateway whose npm has ended: npm's signals reach the shell between the two, and it keeps them. */
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { environment } from "./Settings.ts"

/** What npm runs a script in; some of them become the script's own process, and are then not there. */
const shell = /^(ba|da|a|k|z)?sh$/

/** The process's parent, and where that is a shell on Linux its parent, which is npm: a shell stays when npm is killed. */
const ancestors = (): string => {
  const { ppid } = process
  try {
    // The command's name may hold anything; behind it come the state and the parent (proc_pid_stat(5)).
    const stat = readFileSync(`/proc/${ppid}/stat`, "latin1")
    const end = stat.lastIndexOf(")")
    const name = stat.slice(stat.indexOf("(") + 1, end)
    return shell.test(name) ? `${ppid} ${stat.slice(end).split(" ")[2]}` : String(ppid)
  } catch {
    return String(ppid)
  }
}

/** Where `npm start` runs the gateway, looks every second whether it still does; then the way down is that of SIGTERM. */
export const endWithNpm = Effect.suspend(() => {
  if ((environment().npm_lifecycle_event ?? "") === "") return Effect.void
  const before = ancestors()
  return Effect.sync(() => ancestors() !== before).pipe(
    Effect.delay("1 second"),
    Effect.repeat({ until: (changed) => changed }),
    Effect.andThen(Effect.sync(() => process.kill(process.pid, "SIGTERM")))
  )
})
