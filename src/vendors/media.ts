/**
 * Images and PDFs of a chat request: inline data URIs only, checked before anything is translated (docs/api.md#images-and-pdfs,
 * docs/api.md#limits). Bytes are never decoded: sizes follow from the base64's length, and the vendor judges whether they are of their type.
 */
import { Result } from "effect"
import type { Model } from "../catalog/Catalog.ts"
import { type GatewayError, invalid } from "../catalog/GatewayError.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { ContentPart } from "../contract/ChatMessage.ts"

/** Per message; sizes in bytes decoded, and in base64 characters of images and files together (docs/decisions.md#sizes). */
export const mediaLimits = { images: 20, files: 5, bytes: 3_500_000, base64: 4_718_592 } as const

type Kind = Model["inputs"][number]

export const mimes: Readonly<Record<Kind, ReadonlyArray<string>>> = {
  image: ["image/jpeg", "image/png", "image/gif", "image/webp"],
  pdf: ["application/pdf"]
}
const names: Readonly<Record<Kind, string>> = { image: "an image", pdf: "a PDF" }

/** Longest head of a data URI, in characters. */
const maxHead = 64

/** The type of a data URI and its base64; of one with parameters, and of any other URI, the type is empty. */
export const readDataUri = (uri: string): { readonly mime: string; readonly data: string } => {
  const comma = uri.slice(0, maxHead).indexOf(",")
  const [, mime = ""] = /^data:([^;]*);base64$/.exec(uri.slice(0, Math.max(0, comma))) ?? []
  return { mime, data: uri.slice(comma + 1) }
}

/** What is wrong with a URI. External URLs are refused, so that nothing is fetched (docs/api.md#inline-data-only). */
const refuseUri = (uri: string, kind: Kind): string | undefined => {
  const shape = `data:<mime>;base64,<bytes>, with mime ${mimes[kind].join(", ")}`
  if (!uri.startsWith("data:")) return `external URLs are not accepted: ${names[kind]} must be inline, as ${shape}`
  const { data, mime } = readDataUri(uri)
  if (!mimes[kind].includes(mime)) return `${names[kind]} must have the form ${shape}, without parameters`
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0
  const bytes = (data.length / 4) * 3 - padding
  if (bytes > mediaLimits.bytes) {
    return `${names[kind]} is at most ${mediaLimits.bytes} bytes, this one has ${Math.floor(bytes)}`
  }
  return data === "" || data.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(data.slice(0, data.length - padding))
    ? "the bytes must be standard base64 with padding and no whitespace, and at least one"
    : undefined
}

type MediaPart = Exclude<ContentPart, { readonly type: "text" }>

const uriOf = (part: MediaPart) =>
  part.type === "image_url"
    ? { kind: "image" as const, uri: part.image_url.url, field: "image_url.url" }
    : { kind: "pdf" as const, uri: part.file.file_data, field: "file.file_data" }

/** The type and the base64 of a part that `checkMedia` has passed. */
export const inlineData = (part: MediaPart) => readDataUri(uriOf(part).uri)

const accepted = (model: Model): string =>
  model.inputs.length === 0
    ? "text only"
    : `text, ${model.inputs.map((input) => (input === "image" ? "images" : "PDFs")).join(" and ")}`

const checkParts = (content: ReadonlyArray<ContentPart>, at: string, model: Model): string | undefined => {
  const seen = { image: 0, pdf: 0, base64: 0 }
  for (const [index, part] of content.entries()) {
    if (part.type === "text") continue
    const { kind, uri, field } = uriOf(part)
    if (!model.inputs.includes(kind))
      return `${at}[${index}]: ${model.id} does not take ${names[kind]}, it takes ${accepted(model)}`
    seen[kind]++
    if (seen.image > mediaLimits.images) return `${at}: at most ${mediaLimits.images} images a message`
    if (seen.pdf > mediaLimits.files) return `${at}: at most ${mediaLimits.files} files a message`
    const refusal = refuseUri(uri, kind)
    if (refusal !== undefined) return `${at}[${index}].${field}: ${refusal}`
    seen.base64 += inlineData(part).data.length
    if (seen.base64 > mediaLimits.base64) {
      return `${at}: at most ${mediaLimits.base64} base64 characters of images and files a message`
    }
  }
  return undefined
}

/** Checks every part of every message; fails with `invalid` (400), naming the message and the part. */
export const checkMedia = (chat: ChatRequest, model: Model): Result.Result<void, GatewayError> => {
  for (const [index, message] of chat.messages.entries()) {
    if (message.role !== "user" || typeof message.content === "string") continue
    const problem = checkParts(message.content, `messages[${index}].content`, model)
    if (problem !== undefined) return Result.fail(invalid(problem))
  }
  return Result.void
}

/** How much of a given name is read, from its end, in UTF-16 units. */
const maxLookedAt = 4096
/** Longest name sent, in UTF-16 units. */
const maxFilename = 120
const unnamed = "document.pdf"

/**
 * A plain title for the vendor, never a path or an instruction in disguise (docs/api.md#images-and-pdfs): the last part of a path, without control, format (also bidirectional) and surrogate characters, in at most 120
 * UTF-16 units with a `.pdf` kept; `document.pdf` when nothing is left.
 */
export const sanitizeFilename = (filename: string | null | undefined): string => {
  const plain = (filename ?? "").slice(-maxLookedAt).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "")
  const parts = plain.split(/[/\\]/).map((part) => part.trim())
  const name = parts.findLast((part) => !/^\.*$/.test(part)) ?? ""
  if (name === "") return unnamed
  if (name.length <= maxFilename) return name
  const extension = /\.pdf$/i.exec(name)?.[0] ?? ""
  return name.slice(0, maxFilename - extension.length).replace(/[\uD800-\uDBFF]$/, "") + extension
}
