/** Loaded before main.ts by the npm scripts, in plain JavaScript: without `npm ci` there is no Node that runs TypeScript. */
import { lstatSync, mkdirSync } from "node:fs"
import module from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"

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

/**
 * The heap may grow by three tenths between two collections, not fourfold as it may by default on a machine with much memory: at
 * the same speed, it then takes less (247 MiB under load, 260 where it may grow by half, and some 25 more where it may double).
 * Flags are set before the cache, which is one for each set of them.
 */
setFlagsFromString("--heap-growing-percent=30")

/**
 * Eight seconds after a load, V8 collects to save memory. With that it drops compiled code whose objects have gone, and the next load
 * begins at half the speed and takes seconds to regain it. `settle.ts` does it after a quiet minute instead.
 */
setFlagsFromString("--memory-reducer-gc-count=0")

/**
 * V8 makes what outlived a few collections at its birthplace old from birth there. The events of streams seem so under load, and
 * then keep their texts until the whole heap is collected: streams in bursts take a third less processor time an event without
 * (`npm run bench -- --only messages-bursts`).
 */
setFlagsFromString("--no-allocation-site-pretenuring")

/**
 * Compile jobs that are done wait for a background thread to free them, which has other jobs to do first: in the second after the
 * load began, 281 of them held 32 MiB, of which glibc gives nothing back. The main thread frees them as it takes their code.
 */
setFlagsFromString("--no-maglev-destroy-on-background")

/**
 * Makes the directory where it is missing. Whoever can write to it decides what is run, so it must belong to this user alone
 * and be no link.
 */
const isPrivate = (directory) => {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const { mode, uid } = lstatSync(directory)
    return process.getuid === undefined || ((mode & 0o170077) === 0o040000 && uid === process.getuid())
  } catch {
    return false
  }
}

/**
 * Compiled code, and TypeScript without its types, are kept for the next start: it took half the time, and the gateway 33 MiB
 * less, because Node then does not even load what strips types. `NODE_COMPILE_CACHE` takes precedence.
 */
const cacheDirectory = () =>
  [
    fileURLToPath(new URL("../node_modules/.cache/gateway", import.meta.url)),
    join(tmpdir(), `gateway-cache-${process.getuid?.()}`)
  ].find(isPrivate)
if (module.getCompileCacheDir() === undefined) {
  const directory = cacheDirectory()
  if (directory !== undefined) module.enableCompileCache(directory)
}
