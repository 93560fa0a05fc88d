import { describe, expect, it } from "@effect/vitest"
import { mediaLimits, sanitizeFilename } from "../../src/vendors/media.ts"
import { azure, flash, oss, refusal, say, sonnet } from "./support.ts"

const heads = {
  "image/jpeg": "\xff\xd8\xff\xe0",
  "image/png": "\x89PNG\r\n\x1a\n",
  "image/gif": "GIF89a",
  "image/webp": "RIFF\0\0\0\0WEBP",
  "application/pdf": "%PDF-1.7"
} as const
const bytes = (mime: keyof typeof heads, length = 30): string =>
  Buffer.concat([Buffer.from(heads[mime], "latin1"), Buffer.alloc(length)], length).toString("base64")
const uri = (mime: keyof typeof heads, length?: number): string => `data:${mime};base64,${bytes(mime, length)}`
const image = (url: string) => ({ type: "image_url", image_url: { url } })
const file = (file_data: string, filename: string | null = "a.pdf") => ({ type: "file", file: { filename, file_data } })
const user = (...content: ReadonlyArray<object>) => ({ messages: [{ role: "user", content }] })

const refused = (part: object, route = sonnet): string => {
  const error = refusal(route, user({ type: "text", text: "see" }, part))
  expect(error.reason).toBe("invalid")
  return error.message
}

describe("data URIs", () => {
  it.each(["image/jpeg", "image/png", "image/gif", "image/webp"] as const)("takes %s", (mime) => {
    expect(say(sonnet, user(image(uri(mime)))).messages).toEqual([
      { role: "user", content: [{ type: "image", source: { type: "base64", media_type: mime, data: bytes(mime) } }] }
    ])
  })

  it("takes a PDF, with a clean title", () => {
    expect(say(sonnet, user(file(uri("application/pdf"), "../../etc/a\r\nb.pdf"))).messages).toEqual([
      {
        role: "user",
        content: [
          {
            type: "document",
            source: { type: "base64", media_type: "application/pdf", data: bytes("application/pdf") },
            title: "ab.pdf"
          }
        ]
      }
    ])
  })

  it.each([
    "http://example.com/a.png",
    "https://example.com/a.png",
    "file:///etc/passwd",
    "gs://bucket/a.png",
    "s3://bucket/a.png",
    "//example.com/a.png",
    "DATA:image/png;base64,iVBORw0KGgo=",
    ""
  ])("refuses the external URL %s", (url) => {
    const start = "messages[0].content[1]"
    expect(refused(image(url))).toContain(`${start}.image_url.url: external URLs are not accepted`)
    expect(refused(file(url))).toContain(`${start}.file.file_data: external URLs are not accepted`)
  })

  it.each([
    ["a parameter", `data:image/png;charset=utf-8;base64,${bytes("image/png")}`],
    ["a type in capitals", `data:IMAGE/PNG;base64,${bytes("image/png")}`],
    ["no base64", `data:image/png,${bytes("image/png")}`],
    ["whitespace in the head", `data:image/png; base64,${bytes("image/png")}`],
    ["SVG", `data:image/svg+xml;base64,${btoa("<svg/>")}`],
    ["no type", `data:;base64,${bytes("image/png")}`],
    ["no comma", `data:image/png;base64${bytes("image/png")}`],
    ["a PDF as an image", uri("application/pdf")],
    ["a property of objects as type", `data:constructor;base64,${bytes("image/png")}`]
  ])("refuses %s", (_, url) => {
    expect(refused(image(url))).toMatch(/^messages\[0\]\.content\[1\]\.image_url\.url: .*image\/png/)
  })

  it.each([
    ["whitespace", `${bytes("image/png", 30).slice(0, 20)}\n${bytes("image/png", 30).slice(20)}`],
    ["base64url", `${bytes("image/png", 30).slice(0, -4)}_-__`],
    ["no padding", bytes("image/png", 31).replace(/=+$/, "")],
    ["too much padding", `${bytes("image/png", 30)}====`],
    ["padding inside", `${bytes("image/png", 31)}AAAA`]
  ])("refuses %s in the bytes", (_, data) => {
    expect(refused(image(`data:image/png;base64,${data}`))).toContain("must be standard base64")
  })

  it("refuses no bytes at all, and does not look into others", () => {
    expect(refused(image("data:image/png;base64,"))).toContain("must be standard base64")
    expect(say(sonnet, user(image(`data:image/png;base64,${bytes("image/gif")}`))).messages).toHaveLength(1)
    expect(say(sonnet, user(file(`data:application/pdf;base64,${bytes("image/gif")}`))).messages).toHaveLength(1)
  })
})

describe("limits of a message", () => {
  const passes = (...parts: ReadonlyArray<object>) => expect(say(sonnet, user(...parts)).messages).toHaveLength(1)
  const fails = (...parts: ReadonlyArray<object>) => refusal(sonnet, user(...parts)).message

  it("20 images, 5 files", () => {
    const images = (count: number) => Array.from({ length: count }, () => image(uri("image/png")))
    const files = (count: number) => Array.from({ length: count }, () => file(uri("application/pdf")))
    passes(...images(20), ...files(5))
    expect(fails(...images(21))).toBe("messages[0].content: at most 20 images a message")
    expect(fails(...files(6))).toBe("messages[0].content: at most 5 files a message")
  })

  it.each([0, 1, 2])("3,500,000 bytes, whatever the padding (%i)", (less) => {
    passes(image(uri("image/png", mediaLimits.bytes - less)))
    expect(fails(image(uri("image/png", mediaLimits.bytes + 1 + less)))).toContain("at most 3500000 bytes")
    expect(fails(file(uri("application/pdf", mediaLimits.bytes + 1 + less)))).toContain("at most 3500000 bytes")
  })

  it("4,718,592 base64 characters of both together", () => {
    const half = (mediaLimits.base64 / 4 / 2) * 3
    passes(image(uri("image/png", half)), file(uri("application/pdf", half)))
    expect(fails(image(uri("image/png", half)), file(uri("application/pdf", half + 1)))).toContain(
      "at most 4718592 base64 characters"
    )
  })

  it("each message has its own", () => {
    const message = { role: "user", content: Array.from({ length: 20 }, () => image(uri("image/png"))) }
    expect(refusal(sonnet, { messages: [message, message, { role: "user", content: [image("x")] }] }).message).toMatch(
      /^messages\[2\]\.content\[0\]\.image_url\.url: /
    )
  })
})

describe("what a model takes", () => {
  it("says so when it does not take a part", () => {
    expect(refused(file(uri("application/pdf")), azure)).toBe(
      "messages[0].content[1]: gpt-5.1 does not take a PDF, it takes text, images"
    )
    expect(refused(image(uri("image/png")), oss)).toBe(
      "messages[0].content[1]: gpt-oss-120b does not take an image, it takes text only"
    )
  })

  it("gives Gemini inline data, with a text beside it, and GPT the URI as it came", () => {
    expect(say(flash, user(image(uri("image/png")))).contents).toEqual([
      { role: "user", parts: [{ inlineData: { mimeType: "image/png", data: bytes("image/png") } }, { text: " " }] }
    ])
    expect(say(azure, user(image(uri("image/png")))).messages).toEqual(user(image(uri("image/png"))).messages)
  })
})

describe("file names", () => {
  it.each([
    [null, "document.pdf"],
    ["", "document.pdf"],
    ["..", "document.pdf"],
    ["../", "document.pdf"],
    ["../../etc/passwd", "passwd"],
    ["C:\\temp\\report.pdf", "report.pdf"],
    ["a\0b.pdf", "ab.pdf"],
    ["a\r\nb.pdf", "ab.pdf"],
    ["invoice\u202Efdp.exe", "invoicefdp.exe"],
    ["\ud800x.pdf", "x.pdf"],
    ["Jahresbericht für 2026.pdf", "Jahresbericht für 2026.pdf"]
  ])("%j becomes %j", (given, clean) => expect(sanitizeFilename(given)).toBe(clean))

  it("are bounded, and keep their .pdf", () => {
    const name = sanitizeFilename(`${"x".repeat(300)}.pdf`)
    expect(name).toHaveLength(120)
    expect(name).toMatch(/^x+\.pdf$/)
    for (const start of ["", "x"]) expect(sanitizeFilename(start + "😀".repeat(200)).isWellFormed()).toBe(true)
    expect(sanitizeFilename("x".repeat(1_000_000))).toHaveLength(120)
  })
})
