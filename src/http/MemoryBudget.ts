/**
 * A limit on the memory of requests in flight: bodies, whole replies, events that are still to be completed, tool calls of
 * streams, and what waits for slow readers. What does not fit is refused.
 */
import { getHeapStatistics } from "node:v8"

/** Bytes of a request that is not large. */
const little = 256 * 1024

/** Both take room for more bytes of a request that holds `own` with them, and say whether they fit; the caller gives them back. */
export interface MemoryBudget {
  /**
   * Of a body. One that is alone always fits. Small bodies have a quarter more, so that large ones, which their callers may be slow
   * to send, never keep them out.
   */
  readonly admit: (bytes: number, own: number) => boolean
  /**
   * Of what comes of a request that is running. It has half as much room again, so that bodies leave some for replies, and a request
   * that holds little is never given up. Less than 0 gives room back.
   */
  readonly take: (bytes: number, own: number) => boolean
}

/**
 * For all requests of a process. `most`: bytes as they came, an eighth of what the heap may become. A body exists as bytes,
 * as text, as a tree and as what is made of it.
 */
export const makeMemoryBudget = (most = getHeapStatistics().heap_size_limit / 8): MemoryBudget => {
  let held = 0
  const admit = (bytes: number, own: number): boolean => {
    held += bytes
    return held <= most || held <= own || (own <= little && held <= 1.25 * most)
  }
  return { admit, take: (bytes, own) => admit(bytes, own) || held <= 1.5 * most || own <= little }
}
