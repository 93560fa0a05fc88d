/** Sets of characters as tables, since the scan looks at every character of a text. */
export type Characters = Uint8Array

export const characters = (pattern: RegExp, size = 128): Characters =>
  Uint8Array.from({ length: size }, (_, at) => (pattern.test(String.fromCharCode(at)) ? 1 : 0))

export const is = (set: Characters, character: number): boolean => character < set.length && set[character] === 1

/**
 * How far is looked for the end or the beginning of anything, in characters: what is longer is taken as if it ended there, so that
 * no text, whatever is in it, makes a long step of the scan.
 */
export const farthest = 64 * 1024

/** The code unit at a place, and NUL, which belongs to nothing, past the end; always an integer keeps the loops fast. */
export const unitAt = (text: string, at: number): number => (at < text.length ? text.charCodeAt(at) : 0)

export const digits = characters(/[0-9]/)
export const alphanumerics = characters(/[a-z0-9]/i)
export const hexDigits = characters(/[0-9a-f]/i)
/**
 * Stands for a double quote inside a string. A double quote itself is where a string begins or ends, and no parser that is given
 * the string reads beyond it.
 */
export const innerQuote = 0x7f
export const quotes = characters(/["'`\x7f]/)
/** What a URL parser drops wherever it stands; backspace and form feed, because a backslash may have become one. */
export const breaks = characters(/[\t\n\r\f\b]/)

export const code = (character: string): number => character.charCodeAt(0)
export const space = code(" ")
export const dot = code(".")
export const slash = code("/")
export const colon = code(":")
export const backslash = code("\\")
