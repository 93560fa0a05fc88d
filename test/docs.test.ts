/** Documents lead where they say, and what the source cites is there. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { brokenLink, documentAt, documents, root } from "./support/readme.ts"

describe("links", () => {
  const links = documents.flatMap(({ file, links }) => links.map((link) => [file, link] as const))

  it.each(links.filter(([, link]) => !/^https?:/.test(link)))("%s: %s leads somewhere", (file, link) => {
    assert.isUndefined(brokenLink(file, link))
  })

  it("are not forgotten: the README leads to every document", () => {
    const from = ["README.md", "docs/compliance/README.md"]
    const reached = new Set(
      links.filter(([file]) => from.includes(file)).map(([file, link]) => join(dirname(file), link.split("#")[0] ?? ""))
    )
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

describe("files", () => {
  const named = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, path = ""]) => path)

  it("that documents name are there", () => {
    const paths = documents.flatMap(({ text }) => named(text, /`((?:src|test|bench|deploy)\/[\w./-]+\.\w+)`/g))
    assert.isAbove(paths.length, 50)
    assert.deepEqual(
      paths.filter((path) => !existsSync(join(root, path))),
      []
    )
  })

  it("that the sandbox's own README names are there", () => {
    const folder = join(root, "src/sandbox")
    const paths = named(readFileSync(join(folder, "README.md"), "utf8"), /`([\w/]+\.ts)`/g)
    assert.isAbove(paths.length, 10)
    assert.deepEqual(
      paths.filter((path) => !existsSync(join(folder, path))),
      []
    )
  })

  it("that comments name are there", () => {
    const own = sources.filter((file) => file.startsWith("src/"))
    const paths = own.flatMap((file) => named(readFileSync(join(root, file), "utf8"), /`([\w/]+\.ts)`/g))
    assert.isNotEmpty(paths)
    assert.deepEqual(
      paths.filter((path) => !own.some((file) => file.endsWith(`/${path}`))),
      []
    )
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

it("the path of a request is that of files that are there", () => {
  const path = documentAt("docs/architecture.md").blocks[0]?.text ?? ""
  const files = [...new Set(path.match(/[\w/]+\.ts\b/g))]
  assert.isAtLeast(files.length, 30)
  assert.deepStrictEqual(
    files.filter((file) => !existsSync(join(root, "src", file))),
    []
  )
})

describe("contributing", () => {
  const { text } = documentAt("docs/CONTRIBUTING.md")
  const steps = (section: string) =>
    (text.split(`## ${section}\n`)[1]?.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("- [ ] "))

  it.each(["Add a model", "Add a cloud", "Add a parameter", "Add a surface"])("%s is a checklist", (section) => {
    assert.isAtLeast(steps(section).length, 5)
  })

  it("a parameter is translated by every dialect of chat", () => {
    const named = steps("Add a parameter").join("\n")
    const dialects = readdirSync(join(root, "src/vendors"), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory()
    )
    assert.isAtLeast(dialects.length, 4)
    // Embeddings are no chat.
    for (const { name } of dialects) if (name !== "titan") assert.include(named, `src/vendors/${name}/request.ts`)
  })

  it("a surface has the functions that the checklist names", () => {
    const surface = readFileSync(join(root, "src/surfaces/Surface.ts"), "utf8")
    const protocol = readFileSync(join(root, "src/stream/Frame.ts"), "utf8")
    for (const name of ["counts", "prepare", "answer", "protocol"]) {
      assert.include(steps("Add a surface").join("\n"), `\`${name}\``)
      assert.match(surface, new RegExp(`readonly ${name}\\??:`))
    }
    for (const name of ["calls", "flagged", "inBand"]) assert.match(protocol, new RegExp(`readonly ${name}\\??:`))
  })

  it("the changelog has the package's version", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    assert.include(documentAt("docs/CHANGELOG.md").text, `## [${version}]`)
  })
})

it("every client that people ask for has its lines", () => {
  const { anchors, blocks, text } = documentAt("docs/clients.md")
  const clients = ["openai-sdks", "anthropic-sdks", "ai-sdk", "langchain", "pydantic-ai", "llamaindex", "claude-code"]
  const tools = [
    ...["codex-cli", "copilot-cli", "vs-code-copilot", "opencode", "aider", "cline", "continue", "qwen-code", "llm"],
    ...["open-webui", "librechat"]
  ]
  for (const client of [...clients, ...tools]) assert.isTrue(anchors.has(client), client)
  const code = blocks.map((block) => block.text).join("\n")
  for (const option of ["supportsStructuredOutputs: true", "includeUsage: true", "check_embedding_ctx_length=False"]) {
    assert.include(code, option)
  }
  for (const tier of ["OPUS", "SONNET", "HAIKU"]) assert.include(code, `ANTHROPIC_DEFAULT_${tier}_MODEL=`)
  assert.include(text, "hasCompletedOnboarding")
  const [table] = documentAt("docs/clients.md").tables
  assert.deepStrictEqual(table?.header, ["Client", "Works as it is", "Needs", "Cannot"])
  for (const row of table?.rows ?? []) {
    assert.lengthOf(row, 4)
    // Whoever works as it is, and whoever was not run, says so.
    assert.isTrue(row[1] !== "" || row[0]?.endsWith("not run"), row[0])
  }
})
