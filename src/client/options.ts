/** The options without which nothing can be sent. They are checked when a client is made, in words that quote no secret. */

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

/** The key as a header can have it: one that was read from a file may end with a line feed. */
export const keyOf = (given: string): string => {
  // In JavaScript it may be a variable that is not set.
  const key = typeof given === "string" ? given.trim() : "\n"
  if (!/^[ -~]*$/.test(key)) throw new TypeError("apiKey: must be text of printable ASCII characters")
  return key
}
