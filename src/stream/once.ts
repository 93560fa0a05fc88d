/**
 * What a stream of Effect is made of, for the one time that it runs. Effect assigns a function to a property for each stream that it
 * makes, and V8 makes such functions old from birth: what they hold lives until the next collection of the whole heap. So they hold
 * this, which is empty once the stream runs.
 */
export const once = <A>(value: A): (() => A) => {
  let held: { readonly value: A } | undefined = { value }
  return () => {
    if (held === undefined) throw new Error("a streamed reply runs once")
    const { value } = held
    held = undefined
    return value
  }
}
