/** Images and PDFs: inline data URIs only, within their limits (docs/api.md#images-and-pdfs, docs/api.md#limits). */
import { assert, describe, it } from "@effect/vitest"
import { chat, dataUri, file, image, ok } from "../../support/chat.ts"
import { sixModels } from "../../support/chatKinds.ts"
import { model, sharedChat } from "../../support/chatSurface.ts"

const { gateway, create, sent } = sharedChat()
const refuses = async (body: unknown, text: RegExp) => {
  const before = gateway.calls().length
  const got = await create(body)
  assert.strictEqual(got.status, 400, got.text.slice(0, 500))
  assert.strictEqual(got.json.error.type, "invalid_request_error")
  assert.match(got.json.error.message, text)
  assert.isBelow(got.json.error.message.length, 300)
  assert.strictEqual(gateway.calls().length, before, "nothing goes upstream")
}

const text = { type: "text", text: "What is this?" }
const png = dataUri("image/png")
const pdf = dataUri("application/pdf")
const images = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const

describe("which model takes what", () => {
  for (const id of sixModels) {
    const takesImages = !id.startsWith("gpt-oss")
    const takesPdf = /^(claude|gemini)/.test(id)
    it(`${id}: images ${takesImages ? "yes" : "no"}, PDFs ${takesPdf ? "yes" : "no"}`, async () => {
      for (const mime of images) {
        const body = chat(id, [text, image(dataUri(mime))])
        if (takesImages) assert.match(ok(await create(body)).choices[0].message.content, /I see/)
        else
          await refuses(body, /^messages\[0\]\.content\[1\]: gpt-oss-120b does not take an image, it takes text only$/)
      }
      const body = chat(id, [text, file(pdf)])
      if (takesPdf) assert.match(ok(await create(body)).choices[0].message.content, /I see/)
      else await refuses(body, /^messages\[0\]\.content\[1\]: .* does not take a PDF/)
    })

    if (takesImages) {
      it(`${id}: an image alone, with detail, in a later turn`, async () => {
        ok(await create(chat(id, [image(png)])))
        ok(await create(chat(id, [{ type: "image_url", image_url: { url: png, detail: "low" } }])))
        const messages = [
          { role: "user", content: [text, image(png)] },
          { role: "assistant", content: "A dot." },
          { role: "user", content: [image(png), text] }
        ]
        ok(await create({ model: id, messages }))
      })
    }
  }

  for (const role of ["system", "assistant", "tool"]) {
    it(`not in ${role} messages`, () =>
      refuses(
        {
          model,
          messages: [
            { role: "user", content: "hi" },
            { role, tool_call_id: "t", content: [image(png)] }
          ]
        },
        new RegExp(`^messages\\[1\\]\\.content: must be a string \\(${role} content has no parts\\)`)
      ))
  }
})

describe("data URIs", () => {
  const bytes = png.slice(png.indexOf(",") + 1)
  const rows: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["https", "https://example.com/cat.png", /external URLs are not accepted/],
    ["http", "http://169.254.169.254/latest/meta-data", /external URLs are not accepted/],
    ["file", "file:///etc/passwd", /external URLs/],
    ["gs", "gs://bucket/cat.png", /external URLs/],
    ["s3", "s3://bucket/cat.png", /external URLs/],
    ["no scheme", bytes, /external URLs|must be inline/],
    ["nothing", "", /must be inline/],
    ["capitals", png.replace("data:", "DATA:"), /data:/],
    ["a leading space", ` ${png}`, /inline/],
    ["no base64", `data:image/png,${bytes}`, /form/],
    ["parameters", `data:image/png;charset=utf-8;base64,${bytes}`, /without parameters/],
    ["no type", `data:;base64,${bytes}`, /form/],
    ["SVG", `data:image/svg+xml;base64,${Buffer.from("<svg/>").toString("base64")}`, /image\/png/],
    ["a PDF as an image", pdf, /image\/png/],
    ["HTML", `data:text/html;base64,${bytes}`, /image\/png/],
    ["image/jpg", png.replace("image/png", "image/jpg"), /image\/jpeg/],
    ["whitespace", `${png.slice(0, 60)}\n${png.slice(60)}`, /whitespace/],
    ["base64url", `${png.slice(0, 60)}-_${png.slice(62)}`, /standard base64/],
    ["bad padding", png.replace(/=*$/, "==="), /padding/],
    ["padding missing", `${png.replace(/=+$/, "").replace(/(....)*$/, "")}iVBORw0KGgo`, /base64|form/],
    ["no bytes", "data:image/png;base64,", /./],
    ["NUL", `${png}\u0000`, /base64/],
    ["full-width letters", `${png.slice(0, -4)}ＡＡＡＡ`, /base64/]
  ]
  for (const [name, url, message] of rows) {
    it(`400 for an image: ${name}`, async () => {
      await refuses(chat(model, [text, image(url)]), message)
      const got = await create(chat(model, [text, image(url)]))
      assert.match(got.json.error.message, /^messages\[0\]\.content\[1\]\.image_url\.url: /)
    })
  }

  it("400 for a file by URL, by ID, of another type", async () => {
    await refuses(
      chat(model, [file("https://example.com/a.pdf")]),
      /^messages\[0\]\.content\[0\]\.file\.file_data: external URLs/
    )
    await refuses(
      chat(model, [{ type: "file", file: { file_id: "file-1" } }]),
      /^messages\[0\]\.content\[0\].*file_data/
    )
    await refuses(chat(model, [file(png)]), /application\/pdf/)
    await refuses(chat(model, [file(pdf.replace("application/pdf", "text/plain"))]), /application\/pdf/)
  })

  it("what the bytes are is the model's to judge", async () => {
    const filler = Buffer.alloc(3000).toString("base64")
    const marked = `data:application/pdf;base64,${Buffer.from("\ufeff%PDF-1.7").toString("base64")}`
    const parts = [image(png.replace("image/png", "image/gif")), image(`data:image/png;base64,${filler}`), file(marked)]
    for (const part of parts) {
      const before = gateway.calls().length
      await create(chat(model, [text, part]))
      assert.strictEqual(gateway.calls().length, before + 1)
    }
  })

  it("the vendor gets the bytes as they came", async () => {
    const data = dataUri("image/png", 1000)
    ok(await create(chat(model, [text, image(data), file(pdf, "report.pdf")])))
    const [, picture, document] = sent().messages[0].content
    assert.strictEqual(`data:${picture.source.media_type};base64,${picture.source.data}`, data)
    assert.strictEqual(`data:${document.source.media_type};base64,${document.source.data}`, pdf)
    ok(await create(chat("gpt-5.1:il5", [text, image(data)])))
    assert.strictEqual(sent().messages[0].content[1].image_url.url, data)
  })
})

describe("file names", () => {
  it.each([
    ["../../../etc/passwd", "passwd"],
    ["C:\\Users\\me\\report.pdf", "report.pdf"],
    ["a\u0000b.pdf", "ab.pdf"],
    ["a\r\nSet-Cookie: x.pdf", "aSet-Cookie: x.pdf"],
    ["invoice\u202efdp.exe", "invoicefdp.exe"],
    ["..", "document.pdf"],
    ["", "document.pdf"],
    [undefined, "document.pdf"],
    [null, "document.pdf"]
  ])("%j becomes %j", async (filename, title) => {
    ok(await create(chat(model, [text, { type: "file", file: { filename, file_data: pdf } }])))
    assert.strictEqual(sent().messages[0].content[1].title, title)
  })

  it("300 characters become fewer", async () => {
    ok(await create(chat(model, [text, file(pdf, `${"n".repeat(300)}.pdf`)])))
    assert.match(sent().messages[0].content[1].title, /^n{50,200}\.pdf$/)
  })
})

describe("limits of a message: N passes, N + 1 does not", () => {
  const many = <A>(count: number, part: A) => Array.from({ length: count }, () => part)

  it("20 images", async () => {
    ok(await create(chat(model, [text, ...many(20, image(png))])))
    await refuses(chat(model, [text, ...many(21, image(png))]), /^messages\[0\]\.content: at most 20 images a message/)
    const messages = [
      { role: "user", content: many(20, image(png)) },
      { role: "assistant", content: "ok" },
      { role: "user", content: many(20, image(png)) }
    ]
    ok(await create({ model, messages }))
  })

  it("5 files", async () => {
    ok(await create(chat(model, [text, ...many(5, file(pdf))])))
    await refuses(chat(model, [text, ...many(6, file(pdf))]), /^messages\[0\]\.content: at most 5 files a message/)
  })

  it("3,500,000 bytes an image, a file", async () => {
    ok(await create(chat(model, [text, image(dataUri("image/png", 3_500_000))])))
    await refuses(
      chat(model, [text, image(dataUri("image/png", 3_500_001))]),
      /^messages\[0\]\.content\[1\]\.image_url\.url: .*3500000 bytes.*3500001/
    )
    ok(await create(chat(model, [text, file(dataUri("application/pdf", 3_500_000))])))
    await refuses(
      chat(model, [text, file(dataUri("application/pdf", 3_500_001))]),
      /^messages\[0\]\.content\[1\]\.file\.file_data: .*3500000 bytes/
    )
  })

  it("4,718,592 base64 characters in all", async () => {
    // 3 bytes are 4 characters.
    const first = dataUri("image/png", 1_769_472)
    ok(await create(chat(model, [text, image(first), file(dataUri("application/pdf", 1_769_472))])))
    await refuses(
      chat(model, [text, image(first), file(dataUri("application/pdf", 1_769_475))]),
      /^messages\[0\]\.content: at most 4718592 base64 characters/
    )
  })
})
