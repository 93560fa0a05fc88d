/** Answers what `make` answers, which is asked once for each object. What was made goes when the object does. */
export const perObject = <K extends object, A extends object>(make: (key: K) => A): ((key: K) => A) => {
  const known = new WeakMap<K, A>()
  return (key) => {
    const made = known.get(key)
    if (made !== undefined) return made
    const fresh = make(key)
    known.set(key, fresh)
    return fresh
  }
}
