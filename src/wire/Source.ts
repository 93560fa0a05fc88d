/** What comes by itself and is taken by one reader, without an effect for each piece of it. */
import type { Event } from "./Event.ts"

/** Who waits for what comes. An object: a function of its own, with what it holds, is more to bring into the processor's cache. */
export interface Reader {
  wake(): void
}

export interface Source<A> {
  /** What has come; undefined while nothing has. Nothing is to be taken after an end. */
  take(): A | undefined
  /** Calls back, once and never at once, when something can be taken. A later reader takes the place of an earlier one. */
  notify(reader: Reader): void
}

/** How what is read ends: well, or with a failure. */
export type End<E> = "done" | E

/** What one read brought, and how the reply ended after it, if it did. */
export interface Arrived<E> {
  /** In order; maybe none. */
  readonly events: ReadonlyArray<Event>
  readonly end: End<E> | undefined
}
