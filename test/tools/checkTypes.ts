/** Checks the types, as `npm run check`. A machine without a registry has no client libraries: there everything but the tests is checked. */
import { spawnSync } from "node:child_process"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { haveTools } from "./tools.ts"

const root = join(import.meta.dirname, "../..")
const project = haveTools() ? "tsconfig.json" : "test/tools/tsconfig.json"
// What an earlier check found is kept for the next. More checkers than cores only check the same types twice.
const checkers = String(Math.min(4, availableParallelism()))
const options = ["--incremental", "--tsBuildInfoFile", join(root, "node_modules/.cache/types.tsbuildinfo")]
const { status } = spawnSync(
  process.execPath,
  [
    ...[join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "--project", join(root, project)],
    ...["--checkers", checkers, ...options]
  ],
  { stdio: "inherit" }
)
process.exitCode = status ?? 1
