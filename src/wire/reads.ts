/**
 * Sockets that read into one buffer, from which what came is copied. Node gives each read 64 KiB of memory of its own and then
 * cuts it to what came; to do so for every event and every reply took a tenth of the processor time of whole replies on Bedrock.
 */
import type { OnReadOpts, Socket } from "node:net"
import { pooled } from "./pool.ts"

/** The options of a socket that does so; a caller that is slow stops it as it stops any other. */
export const copiedReads = {
  onread: {
    // The bytes are copied before anything else is read.
    buffer: Buffer.allocUnsafeSlow(64 * 1024),
    callback(this: Socket, length: number, buffer: Buffer): boolean {
      const copy = length <= pooled ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length)
      buffer.copy(copy, 0, 0, length)
      return this.push(copy)
    }
  }
} satisfies { readonly onread: OnReadOpts }
