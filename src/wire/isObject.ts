/** What an object of JSON is. It stands alone: the published client loads it without any library. */
export const isObject = <A = unknown>(value: unknown): value is Readonly<Record<string, A>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The text of a value that `JSON.rawJSON` made. */
export const isRaw: (value: object) => value is { readonly rawJSON: string } =
  Reflect.get(JSON, "isRawJSON") ?? (() => false)
