/** Whether a value is an object of JSON. It stands alone: the published client loads it without any library. */
export const isObject = <A = unknown>(value: unknown): value is Readonly<Record<string, A>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
