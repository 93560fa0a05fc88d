/** The documents as data: their sections, code blocks, tables and links. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, relative, resolve } from "node:path"

export const root = resolve(import.meta.dirname, "../..")

export interface Block {
  readonly file: string
  readonly language: string
  readonly text: string
  readonly line: number
  readonly section: string
}

export interface Table {
  readonly section: string
  readonly header: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
}

export interface Document {
  /** Its path from the root. */
  readonly file: string
  readonly text: string
  /** All that is no code block. */
  readonly prose: string
  readonly blocks: ReadonlyArray<Block>
  readonly tables: ReadonlyArray<Table>
  /** What GitHub makes of the headings. */
  readonly anchors: ReadonlySet<string>
  /** Where the links of the prose go. */
  readonly links: ReadonlyArray<string>
}

const cells = (line: string): ReadonlyArray<string> =>
  line
    .replace(/^\||\|\s*$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())

/** A heading that comes again gets a number. */
const anchorsOf = (headings: ReadonlyArray<string>): ReadonlySet<string> => {
  const anchors = new Set<string>()
  for (const heading of headings) {
    const anchor = heading
      .replace(/\]\([^)]*\)/g, "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
    let again = 0
    while (anchors.has(again === 0 ? anchor : `${anchor}-${again}`)) again++
    anchors.add(again === 0 ? anchor : `${anchor}-${again}`)
  }
  return anchors
}

const parse = (file: string): Document => {
  const text = readFileSync(resolve(root, file), "utf8")
  const blocks: Array<Block> = []
  const tableLines: Array<{ readonly section: string; readonly lines: Array<string> }> = []
  const headings: Array<string> = []
  const prose: Array<string> = []
  let section = ""
  let open: { readonly language: string; readonly line: number; readonly lines: Array<string> } | undefined
  let table: Array<string> | undefined
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^```(.*)$/.exec(line)
    if (open !== undefined) {
      if (fence === null) open.lines.push(line)
      else {
        blocks.push({ file, language: open.language, line: open.line, section, text: open.lines.join("\n") })
        open = undefined
      }
      continue
    }
    if (fence !== null) open = { language: fence[1] ?? "", line: index + 1, lines: [] }
    else prose.push(line)
    const heading = /^#+ (.*)$/.exec(line)
    if (heading !== null) {
      section = heading[1] ?? ""
      headings.push(section)
    }
    if (line.startsWith("|")) {
      if (table === undefined) {
        table = []
        tableLines.push({ section, lines: table })
      }
      table.push(line)
    } else table = undefined
  }
  const proseText = prose.join("\n")
  return {
    file,
    text,
    prose: proseText,
    blocks,
    tables: tableLines.map(({ section, lines }) => ({
      section,
      header: cells(lines[0] ?? ""),
      rows: lines.slice(2).map(cells)
    })),
    anchors: anchorsOf(headings),
    links: [...proseText.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? "")
  }
}

const inDocs = readdirSync(resolve(root, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`)

/** Every document, the README first. */
export const documents: ReadonlyArray<Document> = [
  ...["README.md", ...inDocs],
  ...["bench/README.md", "deploy/README.md", "src/sandbox/README.md"]
].map(parse)

export const documentAt = (file: string): Document => {
  const document = documents.find((document) => document.file === file)
  if (document === undefined) throw new Error(`there is no document ${file}`)
  return document
}
export const readme = documentAt("README.md")

/** The text of all documents together. */
export const text = documents.map(({ text }) => text).join("\n")
export const proseText = documents.map(({ prose }) => prose).join("\n")
export const blocks = documents.flatMap(({ blocks }) => blocks)

/** The table whose first column has this name, in this section. */
export const tableOf = (file: string, section: string, column: string): Table["rows"] => {
  const table = documentAt(file).tables.find((table) => table.section === section && table.header[0] === column)
  if (table === undefined) throw new Error(`${file} has no table "${column}" in "${section}"`)
  return table.rows
}

/** The code spans of a text. */
export const spans = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "")

/** What is wrong with a link of a document, or undefined. Those to other sites are not followed. */
export const brokenLink = (file: string, link: string): string | undefined => {
  if (/^(https?|mailto):/.test(link)) return undefined
  const [path = "", anchor] = link.split("#")
  const target = path === "" ? file : relative(root, resolve(root, dirname(file), path))
  if (!existsSync(resolve(root, target))) return `there is no ${target}`
  if (anchor === undefined) return undefined
  const document = documents.find((document) => document.file === target)
  if (document === undefined) return `${target} is no document with anchors`
  return document.anchors.has(anchor) ? undefined : `${target} has no anchor ${anchor}`
}

/** Variables whose names are the project's; those of other tools are theirs. */
export const variablesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/\b(?:GATEWAY|VERTEX|BEDROCK|AZURE|AWS)_[A-Z0-9_]*[A-Z0-9]\b/g)].map(([name]) => name))
