/** What an event of the fake cloud carries: its number in its stream, and when it was written. */

/** Microseconds of a clock that all processes of a machine share. */
export const micros = (): number => Number(process.hrtime.bigint() / 1_000n)
export const stampOf = (number: number): string => `#${number}@${micros()};`
export const STAMP = /#(\d+)@(\d+);/g
