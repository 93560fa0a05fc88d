/** The type and the cost of files. */
import { type Json, stringOf } from "./json.ts"

// The first bytes, in hexadecimal; a dot stands for any digit.
const signatures: Readonly<Record<string, RegExp>> = {
  "image/png": /^89504e470d0a1a0a/,
  "image/jpeg": /^ffd8ff/,
  "image/gif": /^47494638(?:37|39)61/,
  "image/webp": /^52494646.{8}57454250/,
  "application/pdf": /^255044462d/
}

/** The length of strict base64 in bytes, and the type of its first bytes; an unknown type is empty. */
export const sniff = (data: Json | undefined) => {
  const bytes = Buffer.from(stringOf(data), "base64")
  const head = bytes.subarray(0, 12).toString("hex")
  const valid = bytes.length > 0 && bytes.toString("base64") === data
  const type = Object.keys(signatures).find((type) => valid && signatures[type]?.test(head))
  return { valid, length: bytes.length, type: type ?? "" }
}

/** A file as a part: a phrase ("a PNG image of 1.2 kB"), and tokens that grow up to those of a large image. */
export const fileOf = (type: string, bytes: number) => {
  const kind = type === "application/pdf" ? "a PDF document" : `a ${type.replace("image/", "").toUpperCase()} image`
  const size = bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(1)} kB`
  return { media: `${kind} of ${size}`, tokens: Math.min(1600, 85 + Math.ceil(bytes / 750)) }
}
