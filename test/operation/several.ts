/** Runs the commands that its parent sends, one after the other (`commands.ts`). */
import { EventEmitter } from "node:events"
import { Effect } from "effect"
import { command } from "../../src/operators/cli/commands.ts"
import { run } from "../../src/operators/cli/run.ts"
import type { Sent } from "./commands.ts"

/** Says on both outputs that a command is over. */
const over = (code: number) => {
  process.stdout.write(`\0${code}\0`)
  process.stderr.write(`\0${code}\0`)
}

// Each command listens as in a process of its own.
EventEmitter.defaultMaxListeners = 0
// The next command is run where one that fails would end the process.
Object.assign(process, { exit: over })
process.on("message", ({ args, directory, environment }: Sent) => {
  process.chdir(directory)
  process.env = environment
  process.argv = [...process.argv.slice(0, 2), ...args]
  run(Effect.tap(command, () => Effect.sync(() => over(0))))
})
