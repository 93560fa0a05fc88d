/** Installs what `test/package.json` lists where it is missing: only tests need it, so `npm ci` does not bring it. */
import { spawnSync } from "node:child_process"
import { copyFileSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import manifest from "../package.json" with { type: "json" }

const folder = join(import.meta.dirname, "..")
const installed = join(folder, "node_modules")

const versionOf = (name: string): string | undefined => {
  try {
    return JSON.parse(readFileSync(join(installed, name, "package.json"), "utf8")).version
  } catch {
    return undefined
  }
}
const missing = (): boolean =>
  Object.entries(manifest.dependencies).some(([name, version]) => versionOf(name) !== version)

/** Whether they are there. Without a registry they cannot be; the reason goes to stderr. */
export const haveTools = (): boolean => {
  if (!missing()) return true
  // Several test files ask at the same time: each installs for itself, and the first whole folder is taken.
  const own = mkdtempSync(join(folder, "node_modules.new-"))
  try {
    for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(folder, file), join(own, file))
    const { stderr } = spawnSync(
      "npm",
      [
        "ci",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--fetch-retry-mintimeout=500",
        "--fetch-retry-maxtimeout=2000"
      ],
      {
        cwd: own,
        encoding: "utf8",
        timeout: 300_000
      }
    )
    if (missing()) {
      rmSync(installed, { recursive: true, force: true })
      try {
        renameSync(join(own, "node_modules"), installed)
      } catch {
        // npm brought none, or another process was first.
      }
    }
    if (!missing()) return true
    console.error(
      `What test/package.json lists could not be installed: ${stderr?.trim().split("\n").at(-1) ?? "npm is missing"}`
    )
    return false
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}

/** The path of a tool's file. */
export const toolFile = (...path: ReadonlyArray<string>): string => join(installed, ...path)

/** The tests that import one of these packages: without a registry they cannot be loaded. */
export const testsOfTools = (): ReadonlyArray<string> => {
  const imported = new RegExp(`from "(${Object.keys(manifest.dependencies).join("|")})["/]`)
  return globSync("**/*.test.ts", { cwd: folder, exclude: (name) => name.includes("node_modules") })
    .filter((file) => imported.test(readFileSync(join(folder, file), "utf8")))
    .map((file) => `test/${file}`)
}
