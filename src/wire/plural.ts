/** The word for so many of a thing. */
export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many)
