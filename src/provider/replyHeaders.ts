/** The headers of an upstream's reply that the gateway looks at; everything else stays behind. */

const names = [
  "content-type",
  "content-encoding",
  "retry-after",
  "x-amzn-errortype",
  "x-amzn-requestid",
  "request-id",
  "apim-request-id",
  "x-request-id"
] as const

export type ReplyHeaders = { readonly [Name in (typeof names)[number]]?: string }

/** A header that came twice counts as its first. */
export const replyHeaders = (
  headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
): ReplyHeaders => {
  const kept: { [Name in (typeof names)[number]]?: string } = {}
  for (const name of names) {
    const value = headers[name]
    const first = typeof value === "string" ? value : value?.[0]
    if (first !== undefined) kept[name] = first
  }
  return kept
}
