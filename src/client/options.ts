/** What nothing can be sent without, checked in words that quote no secret: options, when a client is made, and IDs. */

/** Where the gateway is, as the beginning of addresses; in a page it may be relative. */
export const baseOf = (given: string | URL): string => {
  const base = String(given)
  if (/^(?!https?:)[a-z][a-z\d+.-]*:/i.test(base)) {
    throw new TypeError("baseUrl: must begin with https:// or http://")
  }
  if (/[?#]|^[^/]*\/\/[^/]*@/.test(base)) {
    throw new TypeError("baseUrl: must have no query, no fragment, no user name and no password")
  }
  return base.replace(/\/+$/, "")
}

/** What is wrong with an ID as a part of a path: these two lead to other paths, escaped or not. */
export const idProblem = (id: string): string | undefined =>
  id === "." || id === ".." ? `id: ${id} is no ID of a model` : undefined

/** The key as a header can have it: one that was read from a file may end with a line feed. */
export const keyOf = (given: string): string => {
  // In JavaScript it may be a variable that is not set.
  const key = typeof given === "string" ? given.trim() : "\n"
  if (!/^[ -~]*$/.test(key)) throw new TypeError("apiKey: must be text of printable ASCII characters")
  return key
}
