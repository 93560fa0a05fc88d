/** What an object of JSON is. It stands alone: the published client loads it without any library. */
export const isObject = <A = unknown>(value: unknown): value is Readonly<Record<string, A>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The object that a text is; undefined where it is none. Numbers are JavaScript's, or as `parse` reads them. */
export const readObject = <A = unknown>(
  text: string,
  parse: (text: string) => unknown = JSON.parse
): Readonly<Record<string, A>> | undefined => {
  try {
    const value = parse(text)
    return isObject<A>(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The text of a value that `JSON.rawJSON` made. */
export const isRaw: (value: object) => value is { readonly rawJSON: string } =
  Reflect.get(JSON, "isRawJSON") ?? (() => false)
