/**
 * Answers a value once, and holds it no longer. A stream runs for minutes, and what it was made from, such as the request's body, lives as
 * long as the closures that the stream is made of.
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
