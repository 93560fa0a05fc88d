/** Where the gateway is, as the beginning of addresses. */

/** In a page it may be relative. */
export const baseOf = (given: string | URL): string => {
  const base = String(given)
  if (!/[?#]|^[^/]*\/\/[^/]*@/.test(base)) return base.replace(/\/+$/, "")
  throw new TypeError("baseUrl: must have no query, no fragment, no user name and no password")
}
