/**
 * Where the program starts. `serve` is loaded without the other commands. Imports are dynamic, so that the compile cache is on
 * before them.
 */
import "./installed.js"

const { run } = await import("./operators/cli/run.ts")
if (process.argv.length === 3 && process.argv[2] === "serve") run((await import("./serve.ts")).serve)
else run((await import("./operators/cli/commands.ts")).command)
