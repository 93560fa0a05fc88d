/** Loaded into the gateway (`--import`): answers each message of its parent with the bytes in use after a collection. */
import { setTimeout as sleep } from "node:timers/promises"

process.on("message", async () => {
  // What a collection frees may free more in the next one (finalizers, weak references).
  for (let n = 0; n < 3; n++) {
    globalThis.gc?.()
    await sleep(50)
  }
  const { external, heapUsed } = process.memoryUsage()
  process.send?.(heapUsed + external)
})
// The channel alone must not keep the process alive.
process.channel?.unref()
