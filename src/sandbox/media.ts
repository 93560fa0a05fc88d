/** What a file is, and what it costs. */
import { arrayOf, isObject, type Json, readObject, stringOf } from "./json.ts"

// The first bytes, in hexadecimal; a dot stands for any digit.
const signatures: ReadonlyArray<readonly [string, RegExp]> = [
  ["image/png", /^89504e470d0a1a0a/],
  ["image/jpeg", /^ffd8ff/],
  ["image/gif", /^47494638(?:37|39)61/],
  ["image/webp", /^52494646.{8}57454250/],
  ["application/pdf", /^255044462d/]
]

/** What strict base64 holds: how many bytes, and of which type the first of them are; an empty type where none is known. */
export const sniff = (data: Json | undefined) => {
  const bytes = Buffer.from(stringOf(data), "base64")
  const head = bytes.subarray(0, 12).toString("hex")
  const valid = bytes.length > 0 && bytes.toString("base64") === data
  const type = valid ? signatures.find(([, pattern]) => pattern.test(head))?.[0] : undefined
  return { valid, length: bytes.length, type: type ?? "" }
}

/** A file as a part of a message: a phrase ("a PNG image of 1.2 kB"), and a cost that grows up to that of a large image. */
export const fileOf = (type: string, bytes: number) => {
  const kind = type === "application/pdf" ? "a PDF document" : `a ${type.replace("image/", "").toUpperCase()} image`
  const size = bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(1)} kB`
  return { media: `${kind} of ${size}`, tokens: Math.min(1600, 85 + Math.ceil(bytes / 750)) }
}

/** Longest result that is looked into, in characters; the gateway shares this process, and its other requests wait meanwhile. */
const maxRead = 64 * 1024

/** The plain text of a tool's result, whatever shape it has. */
export const resultText = (content: Json | undefined): string => {
  if (typeof content === "string") {
    const parsed = content.length > maxRead ? undefined : readObject(content)
    return parsed === undefined ? content : resultText(parsed)
  }
  if (isObject(content)) {
    const said = (key: string) => (key === "output" || key === "result" ? "" : `${key}: `)
    const all = Object.entries(content).map(([key, value]) => said(key) + resultText(value))
    return all.join(", ")
  }
  if (content === undefined || content === null) return ""
  const parts = arrayOf(content)
  return parts.length === 0 ? JSON.stringify(content) : parts.map(partText).join(" ")
}

const partText = (part: Json): string => {
  if (!isObject(part)) return resultText(part)
  return typeof part.text === "string" ? part.text : `[${String(part.type ?? "data")}]`
}
