/** Each word of these lists, which are separated by spaces, with what its list means. */
export const meaningsOf = <Meaning>(
  ...lists: ReadonlyArray<readonly [words: string, meaning: Meaning]>
): ReadonlyMap<string, Meaning> =>
  new Map(lists.flatMap(([words, meaning]) => words.split(" ").map((word) => [word, meaning] as const)))
