/** The end of a reply in measurements without sockets: a caller that takes everything at once. */
import type { Response } from "../src/stream/encode.ts"

export const nothing = () => {}

const socket = {
  writable: true,
  writableLength: 0,
  writableNeedDrain: false,
  write: () => true,
  once: nothing,
  off: nothing
}

export const responseTo = (chunkedEncoding: boolean): Response => ({ chunkedEncoding, socket })
