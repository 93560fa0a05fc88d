/** Documents lead where they say, and what the source cites is there. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { brokenLink, documents, root } from "./support/readme.ts"

describe("links", () => {
  const links = documents.flatMap(({ file, links }) => links.map((link) => [file, link] as const))

  it.each(links.filter(([, link]) => !/^https?:/.test(link)))("%s: %s leads somewhere", (file, link) => {
    assert.isUndefined(brokenLink(file, link))
  })

  it("are not forgotten: the README leads to every document", () => {
    const reached = new Set(links.filter(([file]) => file === "README.md").map(([, link]) => link.split("#")[0]))
    for (const { file } of documents) if (file !== "README.md") assert.isTrue(reached.has(file), file)
  })
})

/** Sources and tests, and what is deployed and measured; not what is made. */
const sources = ["src", "test", "bench", "deploy"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(ts|js|ya?ml)$/.test(file) && !file.includes("node_modules"))
    .map((file) => `${folder}/${file}`)
)

describe("citations", () => {
  // In strings too: what a message tells an operator to read has to be there.
  const citations = sources.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/(?<![\w./])docs\/[\w.-]+\.md(?:#[\w-]+)?/g)].map(
      ([citation]) => [file, citation] as const
    )
  )

  it("lead to a document, and to an anchor of it", () => {
    const broken = citations
      .map(([file, citation]) => [file, citation, brokenLink("README.md", citation)] as const)
      .filter(([, , problem]) => problem !== undefined)
    assert.deepEqual(broken, [])
  })
})

describe("the documents", () => {
  it("name each heading once, so that an anchor means one place", () => {
    // A changelog has the same headings in every version.
    for (const { anchors, file } of documents.filter(({ file }) => file !== "docs/CHANGELOG.md")) {
      for (const anchor of anchors) {
        const [, base = ""] = /^(.*)-\d+$/.exec(anchor) ?? []
        assert.isFalse(anchors.has(base), `${file}#${anchor}`)
      }
    }
  })

  it("are the repository's own: nothing leads out of it", () => {
    const outside = new RegExp(["\\.\\.", "shared", ""].join("/"))
    for (const { file, text } of documents) assert.notMatch(text, outside, file)
    for (const file of sources) assert.notMatch(readFileSync(join(root, file), "utf8"), outside, file)
  })

  it("keep the README a front door", () => {
    const lines = documents[0]?.text.split("\n").length ?? 0
    assert.isBelow(lines, 180)
  })
})
