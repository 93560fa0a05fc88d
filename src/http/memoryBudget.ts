/**
 * A limit on the memory of requests in flight: bodies, whole replies, incomplete events, tool calls of streams, and bytes that wait for
 * slow readers. What does not fit is refused.
 */
import { getHeapStatistics } from "node:v8"

/** Largest number of bytes that a small request holds. */
const smallRequest = 256 * 1024

/**
 * One budget for all requests of a process, in bytes as they came. `most` is an eighth of the heap's limit, because a body exists as
 * bytes, as text, as a tree and as what is made of it. Both functions count the bytes, and answer whether they fit; the caller gives
 * them back also where they do not. `own`: all bytes of the request, with these.
 */
export const makeMemoryBudget = (most = getHeapStatistics().heap_size_limit / 8) => {
  let held = 0
  /** For a body. The only one always fits. Small requests have a quarter more, so that large bodies that come slowly never keep them out. */
  const admit = (bytes: number, own: number): boolean => {
    held += bytes
    return held <= most || held <= own || (own <= smallRequest && held <= 1.25 * most)
  }
  /**
   * For what a running request holds beside its body: half as much again, so that bodies leave some for replies, and always for a small
   * request. A negative number gives memory back.
   */
  const take = (bytes: number, own: number): boolean => admit(bytes, own) || held <= 1.5 * most || own <= smallRequest
  return { admit, take }
}
export type MemoryBudget = ReturnType<typeof makeMemoryBudget>
