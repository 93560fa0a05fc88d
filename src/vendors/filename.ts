/**
 * File names are untrusted (docs/api.md#images-and-pdfs): a vendor gets a plain title, never a path or an instruction in
 * disguise.
 */

/** How much of a given name, from its end, is looked at, in UTF-16 units. */
const maxLooked = 4096
/** Longest name sent, in UTF-16 units. */
const maxLength = 120
const fallback = "document.pdf"

/**
 * The last part of a path, without control, format (also bidirectional) and surrogate characters, in at most 120
 * UTF-16 units with a `.pdf` kept; `document.pdf` when nothing is left.
 */
export const sanitizeFilename = (filename: string | null | undefined): string => {
  const plain = (filename ?? "").slice(-maxLooked).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "")
  const parts = plain.split(/[/\\]/).map((part) => part.trim())
  const name = parts.findLast((part) => !/^\.*$/.test(part)) ?? ""
  if (name === "") return fallback
  if (name.length <= maxLength) return name
  const extension = /\.pdf$/i.exec(name)?.[0] ?? ""
  return name.slice(0, maxLength - extension.length).replace(/[\uD800-\uDBFF]$/, "") + extension
}
