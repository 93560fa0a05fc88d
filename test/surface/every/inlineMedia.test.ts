/** What may stand where a file or an image may stand, on every surface (docs/api.md#inline-data-only). */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { refuseOutside } from "../../../src/surfaces/boundary.ts"
import { parsed } from "../../support/http.ts"
import { processorTime } from "../../support/processorTime.ts"

const base64 = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" }
const image = (source: unknown) => ({ messages: [{ role: "user", content: [{ type: "image", source }] }] })
const part = (fields: object) => ({ input: [{ role: "user", content: [{ type: "input_image", ...fields }] }] })
const at = /^messages\[0\]\.content\[0\]\.source: /
const inPart = (field: string) => new RegExp(`^input\\[0\\]\\.content\\[0\\]\\.${field}: `)
const url = "https://example.com/a.png"
/** As a body comes: parsed. */
const read = (body: unknown) => refuseOutside(parsed(JSON.stringify(body)))

describe("is refused, with its place", () => {
  const cases: ReadonlyArray<readonly [name: string, body: unknown, text: RegExp]> = [
    ["a URL", image({ type: "url", url }), at],
    ["a URL in capitals", image({ type: "URL", url }), at],
    ["no type", image({ url }), at],
    ["no type, but data", image({ media_type: "image/png", data: "AAAA" }), at],
    ["a stored file", image({ type: "file", file_id: "file_1" }), at],
    ["S3", image({ type: "s3", uri: "s3://bucket/a" }), at],
    ["S3 as Bedrock has it", image({ s3Location: { uri: "s3://bucket/a" } }), at],
    ["Google's storage", image({ type: "gcs", uri: "gs://bucket/a" }), at],
    ["a type of objects' own", image({ type: "constructor" }), at],
    ["a string", image(url), at],
    ["a list", image([base64]), at],
    ["true", image(true), at],
    ["base64 that is none", image({ ...base64, data: url }), at],
    ["base64 without data", image({ ...base64, data: undefined }), at],
    ["base64 of another type", image({ ...base64, media_type: "image/svg+xml" }), at],
    ["base64 without a type", image({ type: "base64", data: "AAAA" }), at],
    ["a URL beside base64", image({ ...base64, url }), /^messages\[0\]\.content\[0\]\.source\.url: /],
    ["text of another type", image({ type: "text", media_type: "text/html", data: "a" }), at],
    ["content that is an object", image({ type: "content", content: {} }), at],
    [
      "a URL in a source of content",
      image({ type: "content", content: [{ type: "image", source: { type: "url", url } }] }),
      /^messages\[0\]\.content\[0\]\.source\.content\[0\]\.source: /
    ],
    [
      "content that is one block",
      { messages: [{ content: { type: "image", source: { type: "url", url } } }] },
      /source/
    ],
    ["the system text", { system: [{ type: "image", source: { type: "url", url } }] }, /^system\[0\]\.source: /],
    ["a block without a type", { messages: [{ content: [{ source: { type: "url", url } }] }] }, at],
    ["a container's file", { messages: [{ content: [{ type: "container_upload", file_id: "f" }] }] }, /file_id: /],
    ["tools inside a message", { messages: [{ content: [], tools: [{ type: "web_search_20250305" }] }] }, /tools: /],

    ["an image's URL", part({ image_url: url }), inPart("image_url")],
    ["an image's URL in an object", part({ image_url: { url: "data:image/png;base64,AAAA" } }), inPart("image_url")],
    ["an image's URL in camel case", part({ imageUrl: url }), inPart("imageUrl")],
    ["an SVG", part({ image_url: "data:image/svg+xml;base64,AAAA" }), inPart("image_url")],
    ["an image in capitals", part({ image_url: "DATA:image/png;base64,AAAA" }), inPart("image_url")],
    ["parameters", part({ image_url: "data:image/png;name=a;base64,AAAA" }), inPart("image_url")],
    ["no base64", part({ image_url: "data:image/png,AAAA" }), inPart("image_url")],
    ["base64url", part({ image_url: "data:image/png;base64,A_-A" }), inPart("image_url")],
    ["a space before", part({ image_url: " data:image/png;base64,AAAA" }), inPart("image_url")],
    ["an ID", part({ file_id: "file_1" }), inPart("file_id")],
    ["several IDs", part({ file_ids: ["file_1"] }), inPart("file_ids")],
    ["a file's URL", part({ file_url: url }), inPart("file_url")],
    ["a URL as a file's data", part({ file_data: url }), inPart("file_data")],
    ["an image as a file's data", part({ file_data: "data:image/png;base64,AAAA" }), inPart("file_data")],
    ["a video's URL", part({ video_url: url }), inPart("video_url")],
    ["a URI", part({ file_uri: "gs://bucket/a" }), inPart("file_uri")],
    ["sound", part({ input_audio: { data: "AAAA", format: "wav" } }), inPart("input_audio")],
    ["an item that is a part", { input: [{ type: "input_image", image_url: url }] }, /^input\[0\]\.image_url: /],
    ["a file that is an item", { input: [{ type: "input_file", file_data: url }] }, /^input\[0\]\.file_data: /],
    ["the body itself", { image_url: url }, /^image_url: /],
    ["a field that no one knows", { homepage_url: url }, /^homepage_url: not passed on, .*; leave it out/],
    [
      "variables of a prompt",
      { prompt: { variables: { a: { image_url: url } } } },
      /^prompt\.variables\.a\.image_url: /
    ],
    [
      "instructions",
      { instructions: [{ content: [{ image_url: url }] }] },
      /^instructions\[0\]\.content\[0\]\.image_url: /
    ],
    [
      "what a tool's output holds",
      { input: [{ type: "function_call_output", output: [{ content: [{ image_url: url }] }] }] },
      /^input\[0\]\.output\[0\]\.content\[0\]\.image_url: /
    ],
    ["a reference", { input: ["a", { type: "item_reference", id: "msg_1" }] }, /^input\[1\]: .*send the item itself/],
    ["a reference elsewhere", { instructions: [{ type: "item_reference", id: "a" }] }, /^instructions\[0\]: /],
    [
      "a body that says it is a call",
      { type: "custom_tool_call", input: [{ image_url: url }] },
      /^input\[0\]\.image_url: /
    ]
  ]
  it.each(cases)("%s", (_, body, text) => {
    assert.match(read(body) ?? "nothing", text)
  })

  it("in few words, however long its place is", () => {
    const deep = Array.from({ length: 200 }).reduce<unknown>((inner) => ({ ["k".repeat(1000)]: inner }), {
      image_url: url
    })
    assert.isBelow(read({ input: deep })?.length ?? 0, 700)
  })
})

describe("passes", () => {
  const cases: ReadonlyArray<readonly [name: string, body: unknown]> = [
    ["base64", image(base64)],
    ["base64 with line breaks", image({ ...base64, data: "iVBO\r\nRw0K\nGgo=" })],
    ["a PDF", image({ ...base64, media_type: "application/pdf" })],
    ["a text", image({ type: "text", media_type: "text/plain", data: "see https://example.com" })],
    ["text blocks", image({ type: "content", content: [{ type: "text", text: url }] })],
    ["null", image(null)],
    ["a search result's own name", { messages: [{ content: [{ type: "search_result", source: url, title: "a" }] }] }],
    ["a data URI", part({ image_url: "data:image/webp;base64,AAAA" })],
    ["a PDF's data URI", part({ file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" })],
    ["fields that hold nothing", part({ image_url: null, file_id: null, file_url: false })],
    ["texts with URLs", { input: url, instructions: url, system: url }],
    ["metadata", { metadata: { callback_url: url, source: "web" }, client_metadata: { url } }],
    [
      "a tool's schema",
      { tools: [{ name: "a", input_schema: { properties: { image_url: {}, source: { type: "url" } } } }] }
    ],
    [
      "a format's schema",
      { text: { format: { type: "json_schema", schema: { properties: { url: { type: "string" } } } } } }
    ],
    ["a call's input", { messages: [{ content: [{ type: "tool_use", input: { source: { type: "url", url } } }] }] }],
    ["a shell's call", { input: [{ type: "local_shell_call", action: { env: { API_URL: url } } }] }],
    ["a patch", { input: [{ type: "apply_patch_call", operation: { url } }] }],
    ["what the model cited", { input: [{ content: [{ type: "output_text", annotations: [{ url, file_id: "f" }] }] }] }],
    ["citations", { messages: [{ content: [{ type: "text", citations: [{ url }] }] }] }],
    ["a type of the request itself, which is no item", { type: "item_reference", input: "a" }],
    ["names that only look alike", { messages: [{ curled: url, resource: url, url_count: 1, sourced: {} }] }],
    ["an own field named as a prototype's", JSON.parse('{"messages":[{"__proto__":{"text":"a"}}]}')]
  ]
  it.each(cases)("%s", (_, body) => {
    assert.isUndefined(read(body))
  })
})

const Key = Schema.Literals(["content", "a", "output", "parts", "text", "__proto__", "système"])
const Path = Schema.Array(Schema.Union([Key, Schema.Literals([0, 1])])).check(Schema.isMaxLength(40))
const Place = Schema.Literals(["image_url", "file_url", "file_id", "video_url", "file_data", "source", "fileUri"])

/** The value, that far inside objects and lists. */
const nest = (path: ReadonlyArray<string | number>, value: unknown): unknown =>
  path.reduceRight<unknown>(
    (inner, key) =>
      typeof key === "number"
        ? [...Array.from({ length: key }, () => "x"), inner]
        : JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(inner)}}`),
    value
  )

describe("wherever it stands", () => {
  it.prop("what is outside is found", { path: Path, place: Place }, ({ path, place }) => {
    const refusal = read({ messages: nest(path, { [place]: url }) })
    assert.match(refusal ?? "nothing", /^messages/)
    assert.include(refusal ?? "", place)
  })

  it.prop("what is inline passes", { path: Path }, ({ path }) => {
    assert.isUndefined(read({ messages: nest(path, { source: base64, image_url: "data:image/gif;base64,AAAA" }) }))
  })

  it.prop("text is never looked into", { path: Path, text: Schema.String }, ({ path, text }) => {
    assert.isUndefined(read({ messages: nest(path, { text: `${text}${url}` }) }))
  })

  it("takes time in proportion", () => {
    const time = (count: number) => {
      const body = { messages: Array.from({ length: count }, () => ({ content: [{ type: "text", text: "a" }] })) }
      return processorTime(() => assert.isUndefined(refuseOutside(body)))
    }
    time(10_000)
    assert.isBelow(time(50_000), 1000)
  })
})
