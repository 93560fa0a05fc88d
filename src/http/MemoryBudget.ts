/**
 * MemoryBudget in memory for what requests have in hand: bodies, whole replies, events that are still to be completed, tool calls of
 * streams, and what waits for slow readers. What does not fit is refused.
 */
import { getHeapStatistics } from "node:v8"

/** Bytes of a request that is not large. */
const little = 256 * 1024

/** For all requests of a process. Two additions for each that takes some. */
export class MemoryBudget {
  /**
   * Bytes as they came, at most: an eighth of what the heap may become. What is in hand is there as bytes, as text, as a tree and
   * as what is made of it.
   */
  private readonly most: number
  private held = 0

  constructor(most = getHeapStatistics().heap_size_limit / 8) {
    this.most = most
  }

  /**
   * Takes room for more of the body of a request that holds `own` with it, and says whether it fits; one that is alone always does.
   * Small bodies have a quarter more, so that large ones, which their callers may be slow to send, never keep them out.
   */
  admit(bytes: number, own: number): boolean {
    this.held += bytes
    return this.held <= this.most || this.held <= own || (own <= little && this.held <= 1.25 * this.most)
  }

  /**
   * The same for what comes of a request that is running. It has half as much room again, so that bodies leave some for replies, and
   * a request that holds little is never given up.
   */
  take(bytes: number, own: number): boolean {
    return this.admit(bytes, own) || this.held <= 1.5 * this.most || own <= little
  }
}
