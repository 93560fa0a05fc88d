/** Destinations reported for one tool call, at most. The first ones are kept. */
export const maxDestinations = 100
/** Destinations beyond those that are told apart in the count; of still more, each occurrence counts. */
export const maxCounted = 10_000

/** What a tool call names. */
export interface Found {
  /** Unique, in order of appearance. */
  readonly destinations: ReadonlyArray<string>
  /** How many more there were than are reported. */
  readonly omitted: number
}

/** Takes destinations in order of appearance, repeated or not, in bounded memory. Mutable, for one call. */
export interface Collector {
  readonly add: (destination: string) => void
  readonly found: () => Found
}

export const makeCollector = (): Collector => {
  const kept = new Set<string>()
  const beyond = new Set<string>()
  let uncounted = 0
  return {
    add: (destination) => {
      if (kept.has(destination) || beyond.has(destination)) return
      if (kept.size < maxDestinations) kept.add(destination)
      else if (beyond.size < maxCounted) beyond.add(destination)
      else uncounted++
    },
    found: () => ({ destinations: [...kept], omitted: beyond.size + uncounted })
  }
}
