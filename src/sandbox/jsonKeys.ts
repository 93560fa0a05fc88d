/** The keys that a prompt names for the JSON that it asks for without a schema. */
import { allIn } from "./schemaSample.ts"

/** Characters of a prompt that are read, and keys of it that are used. */
const READ = 64 * 1024
const MOST = 16

/** `{"city": …}` */
const shown = /["'`](\w[\w-]{0,63})["'`]\s*:/g
/** `keys: name, age`, `the fields "city" and "days"` */
const listed = /\b(?:key|field|propert(?:y|ie))s?\b([^.;:?!\n]{0,20}:)?([^.;?!\n]*)/gi
const quoted = /["'`](\w[\w-]{0,63})["'`]/g
const beforeNames = /^\s*(?:(?:called|named|are|is|must be|should be|the|following|of)\s+)*/i

/** Names at the beginning of a list; a word after a name ends it: `name and age of each person`. */
const namesIn = (list: string): ReadonlyArray<string> => {
  const names: Array<string> = []
  for (const entry of list.replace(beforeNames, "").split(/\s*(?:,|\band\b|\bor\b|&)\s*/)) {
    const [, name, rest = ""] = /^["'`]?([A-Za-z_][\w-]{0,63})["'`]?(.*)$/.exec(entry) ?? []
    if (name !== undefined) names.push(name)
    if (rest.trim() !== "") break
  }
  return names
}

/** In order, each once; none where the prompt names none. */
export const keysIn = (prompt: string): ReadonlyArray<string> => {
  // A run of blanks takes the pattern between names quadratic time.
  const text = prompt.slice(0, READ).replace(/[^\S\n]+/g, " ")
  const inLists = [...text.matchAll(listed)].flatMap(([, , list = ""]) => {
    const bare = namesIn(list)
    const inQuotes = allIn(list, quoted)
    return bare[0] === inQuotes[0] || bare.length === 0 ? inQuotes : bare
  })
  const found = [allIn(text, shown), inLists, allIn(text, quoted)]
  return [...new Set(found.find((keys) => keys.length > 0))].slice(0, MOST)
}
