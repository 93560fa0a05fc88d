/**
 * Run by npm when it has installed the dependencies, and when the image is built: loads all modules, so that Node's compile cache
 * is filled before the first start. Without it the first start fills the cache, so nothing here fails an installation.
 */
import { readdirSync } from "node:fs"
import module from "node:module"

if (process.features.typescript) {
  await import("./installed.js")
  const modules = readdirSync(import.meta.dirname, { recursive: true }).filter(
    (name) => name.endsWith(".ts") && name !== "main.ts"
  )
  await Promise.allSettled(modules.map((name) => import(`./${name}`)))
  module.flushCompileCache()
}
process.exit(0)
