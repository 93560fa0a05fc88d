/** Typing errors: which known name is meant. */

/** More changes than that, or than half of its letters, make another name. */
const maxChanges = 3

/** How many letters are added, left out, changed or swapped with their neighbour between two names. */
const changes = (a: string, b: string): number => {
  let before: ReadonlyArray<number> = []
  let row: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      next.push(
        Math.min(
          (row[j] ?? 0) + 1,
          (next[j - 1] ?? 0) + 1,
          (row[j - 1] ?? 0) + (same ? 0 : 1),
          swapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
        )
      )
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

/** Of the names the one that `name` was most likely meant to be; undefined where all are further away than a typing error. */
export const nearest = (name: string, among: Iterable<string>): string | undefined => {
  const most = Math.min(maxChanges, Math.floor(name.length / 2))
  return [...among]
    .filter((known) => Math.abs(known.length - name.length) <= most)
    .map((known) => ({ known, distance: changes(name, known) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance)[0]?.known
}
