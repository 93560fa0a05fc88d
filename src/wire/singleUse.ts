/**
 * Returns a value once, and does not hold it after that. A stream runs for minutes, and its closures would hold what it was made from, such
 * as the request's body.
 */
export const singleUse = <A>(value: A): (() => A) => {
  let held: { readonly value: A } | undefined = { value }
  return () => {
    if (held === undefined) throw new Error("used twice")
    const used = held.value
    held = undefined
    return used
  }
}
