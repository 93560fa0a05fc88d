/** The README as data: its sections, code blocks, tables and links. */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

export const root = resolve(import.meta.dirname, "../..")
export const text = readFileSync(resolve(root, "README.md"), "utf8")

export interface Block {
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

const found: Array<Block> = []
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
      found.push({ language: open.language, line: open.line, section, text: open.lines.join("\n") })
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

const cells = (line: string): ReadonlyArray<string> =>
  line
    .replace(/^\||\|\s*$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())

export const blocks: ReadonlyArray<Block> = found
export const tables: ReadonlyArray<Table> = tableLines.map(({ section, lines }) => ({
  section,
  header: cells(lines[0] ?? ""),
  rows: lines.slice(2).map(cells)
}))

/** All that is no code block. */
export const proseText = prose.join("\n")

/** The table whose first column has this name, in this section. */
export const tableOf = (section: string, column: string): Table["rows"] => {
  const table = tables.find((table) => table.section === section && table.header[0] === column)
  if (table === undefined) throw new Error(`the README has no table "${column}" in "${section}"`)
  return table.rows
}

/** The code spans of a text. */
export const spans = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "")

/** What GitHub makes of the headings. */
export const anchors: ReadonlySet<string> = new Set(
  headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
  )
)

/** Where the links of the prose go. */
export const links: ReadonlyArray<string> = [...proseText.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? "")

/** Variables whose names are the project's; those of other tools are theirs. */
export const variablesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/\b(?:GATEWAY|VERTEX|BEDROCK|AZURE|AWS)_[A-Z0-9_]*[A-Z0-9]\b/g)].map(([name]) => name))
