/** Installs the tools of this folder where they are missing: few tests need them, so `npm ci` does not bring them. */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"

const folder = import.meta.dirname
const packages = ["@redocly/cli", "esbuild"]

/** Whether they are there. Without a registry they cannot be; the reason goes to stderr. */
export const haveTools = (): boolean => {
  const missing = () => packages.some((name) => !existsSync(join(folder, "node_modules", name, "package.json")))
  if (!missing()) return true
  const { stderr } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], {
    cwd: folder,
    encoding: "utf8",
    timeout: 120_000
  })
  if (!missing()) return true
  console.error(
    `The tools of test/tools could not be installed: ${stderr?.trim().split("\n").at(-1) ?? "npm is missing"}`
  )
  return false
}

/** The path of a tool's file. */
export const toolFile = (...path: ReadonlyArray<string>): string => join(folder, "node_modules", ...path)
