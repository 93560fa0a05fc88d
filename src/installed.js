/** Loaded before main.ts by the npm scripts, in plain JavaScript: without `npm ci` there is no Node that runs TypeScript. */
import { lstatSync, mkdirSync } from "node:fs"
import module from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const installed = () => {
  try {
    return import.meta.resolve("effect") !== ""
  } catch {
    return false
  }
}

if (!process.features.typescript || !installed()) {
  console.error(
    `gateway: run npm ci first; it also brings the Node that the gateway runs on (this one is ${process.version})`
  )
  process.exit(1)
}

const make = (directory) => {
  try {
    mkdirSync(directory, { mode: 0o700 })
  } catch {
    // It is there, or it cannot be made: who looks at it next will see.
  }
}

/** Makes the directory where it is missing. What is in it is run, so it must belong to this user alone and be no link. */
const isPrivate = (directory) => {
  try {
    // Not `recursive`, which never ends where TMPDIR is below /proc.
    make(dirname(directory))
    make(directory)
    const { mode, uid } = lstatSync(directory)
    return process.getuid === undefined || ((mode & 0o170077) === 0o040000 && uid === process.getuid())
  } catch {
    return false
  }
}

// Compiled code, and TypeScript without its types, are kept for the next start, which then takes half the time.
// NODE_COMPILE_CACHE takes precedence.
if (module.getCompileCacheDir() === undefined) {
  const directory = [
    fileURLToPath(new URL("../node_modules/.cache/gateway", import.meta.url)),
    join(tmpdir(), `gateway-cache-${process.getuid?.()}`)
  ].find(isPrivate)
  if (directory !== undefined) module.enableCompileCache(directory)
}
