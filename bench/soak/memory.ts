/** Loaded into the gateway by the soak (`--import`): answers each message of its parent with what lives after a collection. */
import { setTimeout as sleep } from "node:timers/promises"

export interface Memory {
  /** Bytes. */
  readonly heap: number
  readonly external: number
  readonly rss: number
}

process.on("message", async () => {
  // What a collection frees may free more in the next one (finalizers, weak references).
  for (let n = 0; n < 3; n++) {
    globalThis.gc?.()
    await sleep(50)
  }
  const { external, heapUsed, rss } = process.memoryUsage()
  const memory: Memory = { heap: heapUsed, external, rss }
  process.send?.(memory)
})
// The channel alone must not keep the process alive.
process.channel?.unref()
