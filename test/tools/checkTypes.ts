/** Checks the types, as `npm run check`. A machine without a registry has no client libraries: there everything but the tests is checked. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { haveTools } from "./tools.ts"

const root = join(import.meta.dirname, "../..")
const project = haveTools() ? "tsconfig.json" : "test/tools/tsconfig.json"
const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "--project", join(root, project)],
  { stdio: "inherit" }
)
process.exitCode = status ?? 1
