/** What an event of the fake cloud carries: its number in its stream and when it was written, by the machine's one clock. */

/** Microseconds of a clock that all processes of a machine share. */
export const micros = (): number => {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e6 + Math.round(nanoseconds / 1e3)
}

export const stampOf = (number: number): string => `#${number}@${micros()};`

export const STAMP = /#(\d+)@(\d+);/g
