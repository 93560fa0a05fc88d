/** What a file is, and what it costs. */
import type { Json, JsonObject } from "./json.ts"
import { isObject, listOf, parseJson } from "./json.ts"

// The first bytes, in hexadecimal; a dot stands for any digit.
const signatures: ReadonlyArray<readonly [string, RegExp]> = [
  ["image/png", /^89504e470d0a1a0a/],
  ["image/jpeg", /^ffd8ff/],
  ["image/gif", /^47494638(?:37|39)61/],
  ["image/webp", /^52494646.{8}57454250/],
  ["application/pdf", /^255044462d/]
]

/** The type that a file's first bytes show, or `undefined`. */
export const sniff = (bytes: Buffer): string | undefined => {
  const head = bytes.subarray(0, 12).toString("hex")
  return signatures.find(([, pattern]) => pattern.test(head))?.[0]
}

/** Decodes standard base64 strictly; `undefined` for anything else. */
export const decodeBase64 = (data: string): Buffer | undefined => {
  const bytes = Buffer.from(data, "base64")
  return bytes.length > 0 && bytes.toString("base64") === data ? bytes : undefined
}

const sizeOf = (bytes: number): string => (bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(1)} kB`)

/** A file as a phrase: "a PNG image of 1.2 kB". */
export const describe = (type: string, bytes: number): string => {
  const kind = type === "application/pdf" ? "a PDF document" : `a ${type.replace("image/", "").toUpperCase()} image`
  return `${kind} of ${sizeOf(bytes)}`
}

/** What a file costs in prompt tokens; it grows with the file up to what a large image costs. */
export const mediaTokens = (bytes: number): number => Math.min(1600, 85 + Math.ceil(bytes / 750))

/** The plain text of a tool's result, whatever shape it has. */
export const resultText = (content: Json | undefined): string => {
  if (typeof content === "string") {
    const parsed = parseJson(content)
    return isObject(parsed) ? resultText(parsed) : content
  }
  if (isObject(content)) {
    return Object.entries(content)
      .map(([key, value]) =>
        key === "output" || key === "result" ? resultText(value) : `${key}: ${resultText(value)}`
      )
      .join(", ")
  }
  if (content === undefined || content === null) return ""
  const parts = listOf(content)
  return parts.length === 0 ? JSON.stringify(content) : parts.map(partText).join(" ")
}

const partText = (part: Json): string => (isObject(part) ? textOfPart(part) : resultText(part))

const textOfPart = (part: JsonObject): string =>
  typeof part.text === "string" ? part.text : `[${String(part.type ?? "data")}]`
