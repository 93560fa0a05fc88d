/**
 * The part of Go's templates that the chart uses, so that it can be rendered where there is no Helm. Whatever it does not know
 * is an error. Where Helm is there, a test compares the two.
 */
import { createHash } from "node:crypto"
import { stringify } from "yaml"

type Value = ReturnType<typeof JSON.parse>
/** What names stand for: `.` is the value at hand, `$` the whole, and the variables of `range`. */
type Scope = Readonly<Record<string, Value>>
interface Action {
  readonly words: ReadonlyArray<string>
  readonly body: ReadonlyArray<string | Action>
}
type Nodes = ReadonlyArray<string | Action>

const blocks: ReadonlySet<string> = new Set(["if", "else", "with", "range", "define"])

/** Takes tokens up to the block's end. */
const parse = (rest: Array<string>): Nodes => {
  const nodes: Array<string | Action> = []
  for (let token = rest.shift(); token !== undefined; token = rest.shift()) {
    if (!token.startsWith("{{")) nodes.push(token)
    else {
      const words = token.slice(2, -2).match(/"(?:[^"\\]|\\.)*"|:=|\||[^\s,|]+/g) ?? []
      if (words[0] === "end") return nodes
      nodes.push({ words, body: blocks.has(words[0] ?? "") ? parse(rest) : [] })
      // Its block's end is that of the one that it is in.
      if (words[0] === "else") return nodes
    }
  }
  return nodes
}

/** A minus sign takes the white space on its side. */
const parsed = (text: string): Nodes =>
  parse(
    text
      .replace(/\s*\{\{-/g, "{{")
      .replace(/-\}\}\s*/g, "}}")
      .split(/(\{\{.*?\}\})/)
      .filter((token) => token !== "")
  )

const isEmpty = (value: Value) => (typeof value === "object" ? Object.keys(value ?? {}).length === 0 : !value)

const functions: Readonly<Record<string, (...values: ReadonlyArray<Value>) => Value>> = {
  default: (other, value) => (isEmpty(value) ? other : value),
  nindent: (by, text) => String(`\n${text}`).replaceAll("\n", `\n${" ".repeat(by)}`),
  or: (...values) => values.find((value) => !isEmpty(value)) ?? values.at(-1),
  quote: (value) => JSON.stringify(String(value)),
  replace: (from, to, text) => String(text).replaceAll(from, to),
  sha256sum: (text) => createHash("sha256").update(text).digest("hex"),
  sub: (a, b) => a - b,
  toJson: (value) => JSON.stringify(value),
  // Go writes keys in their order.
  toYaml: (value) => stringify(value, { sortMapEntries: true, lineWidth: 0 }).trimEnd()
}

/** Renders `file` of the templates (name to text); the others give it their definitions. */
export const render = (templates: Readonly<Record<string, string>>, file: string, root: Value): string => {
  const definitions = new Map(
    Object.values(templates)
      .flatMap(parsed)
      .filter((node) => typeof node !== "string")
      .filter(({ words }) => words[0] === "define")
      .map(({ words, body }) => [words[1] ?? "", body])
  )

  const operand = (word: string, scope: Scope): Value => {
    if (/^(".*"|\d+)$/.test(word)) return JSON.parse(word)
    const [name = "", ...path] = word.split(".")
    const start = name === "" ? "." : name
    if (!(start in scope)) throw new Error(`${file}: ${word} is not known`)
    return path.filter((key) => key !== "").reduce((value, key) => value?.[key], scope[start])
  }

  const call = ([name = "", ...words]: ReadonlyArray<string>, scope: Scope, piped: ReadonlyArray<Value>): Value => {
    const values = [...words.map((word) => operand(word, scope)), ...piped]
    if (name === "include") {
      const body = definitions.get(JSON.stringify(values[0]))
      if (body === undefined) throw new Error(`${file}: there is no template ${values[0]}`)
      return written(body, { ".": values[1], $: values[1] })
    }
    if (name === ".Files.Get") return root.Files(values[0])
    const known = functions[name]
    if (known !== undefined) return known(...values)
    if (values.length > 0) throw new Error(`${file}: there is no function ${name}`)
    return operand(name, scope)
  }

  const pipeline = (words: ReadonlyArray<string>, scope: Scope): Value => {
    const end = words.lastIndexOf("|")
    return end < 0 ? call(words, scope, []) : call(words.slice(end + 1), scope, [pipeline(words.slice(0, end), scope)])
  }

  const repeated = (words: ReadonlyArray<string>, body: Nodes, scope: Scope): string => {
    const [key = "", value = "", assign] = words
    const named = assign === ":="
    const over = Object.entries(pipeline(named ? words.slice(3) : words, scope) ?? {})
    const turns = over.sort(([a], [b]) => (named ? a.localeCompare(b) : 0))
    return turns
      .map(([name, item]) => written(body, { ...scope, ".": item, ...(named && { [key]: name, [value]: item }) }))
      .join("")
  }

  const written = (nodes: Nodes, scope: Scope): string =>
    nodes
      .map((node) => {
        if (typeof node === "string") return node
        const [first = "", ...rest] = node.words
        if (first === "define" || first === "else") return ""
        if (first === "range") return repeated(rest, node.body, scope)
        if (first !== "if" && first !== "with") return String(pipeline(node.words, scope))
        const value = pipeline(rest, scope)
        if (!isEmpty(value)) return written(node.body, first === "with" ? { ...scope, ".": value } : scope)
        const last = node.body.at(-1)
        return typeof last === "object" && last.words[0] === "else" ? written(last.body, scope) : ""
      })
      .join("")

  return written(parsed(templates[file] ?? ""), { ".": root, $: root })
}
