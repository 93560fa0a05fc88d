/**
 * The one door by which JSON goes out. What may be large is printed in slices, so that other requests are served in between
 * (docs/decisions.md#work-in-slices); the text is that of `JSON.stringify`.
 */
import { Effect } from "effect"
import { SlicedPrinter } from "./slicedPrinter.ts"
import { inTurns } from "./turns.ts"

export { base64Json } from "./slicedPrinter.ts"

/** Bytes of text that the engine prints in about a millisecond. */
const smallBytes = 256 * 1024

/** `size`: about how many bytes the text will have, such as those of what it was made from. */
export const print = (value: unknown, size: number): Effect.Effect<string | Uint8Array<ArrayBuffer>> =>
  Effect.suspend((): Effect.Effect<string | Uint8Array<ArrayBuffer>> => {
    if (size <= smallBytes) return Effect.succeed(JSON.stringify(value))
    const printer = new SlicedPrinter(value)
    return Effect.map(inTurns(printer.step), () => Buffer.concat(printer.pieces, printer.size))
  })
