/** Typing errors: which known name is meant. */

/** More changes than that, or than half of its letters, make another name. */
const maxChanges = 3

/** How many letters are added, left out, changed or swapped with their neighbour between two names; infinite where they are more than `most`. */
const changes = (a: string, b: string, most: number): number => {
  if (Math.abs(a.length - b.length) > most) return Number.POSITIVE_INFINITY
  if (a === b) return 0
  if (a[0] === b[0]) return changes(a.slice(1), b.slice(1), most)
  const isSwapped = a.length > 1 && a[0] === b[1] && a[1] === b[0]
  return (
    1 +
    Math.min(
      changes(a.slice(1), b, most - 1),
      changes(a, b.slice(1), most - 1),
      changes(a.slice(1), b.slice(1), most - 1),
      isSwapped ? changes(a.slice(2), b.slice(2), most - 1) : Number.POSITIVE_INFINITY
    )
  )
}

/** Of the names the one that `name` was most likely meant to be; undefined where all are further away than a typing error. */
export const nearest = (name: string, among: Iterable<string>): string | undefined => {
  const most = Math.min(maxChanges, Math.floor(name.length / 2))
  return [...among]
    .map((known) => ({ known, distance: changes(name, known, most) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance)[0]?.known
}
