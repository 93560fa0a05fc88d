/** The value at the key; where there is none, `make` makes it. Node 24 has no `Map.getOrInsertComputed` yet. */
export const getOrInsert = <K, V extends object | string>(map: Map<K, V>, key: K, make: () => V): V => {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}
