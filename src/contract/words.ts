/** What a schema expects, in words for a caller: for the messages of unions, and for errors without a message of their own. */
import type { SchemaAST, SchemaIssue } from "effect"

const nouns: Readonly<Record<string, string>> = {
  String: "a string",
  Number: "a number",
  Boolean: "a boolean",
  Arrays: "an array",
  Objects: "an object",
  Null: "null"
}

const wanted = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (ast._tag === "Literal") return [String(ast.literal)]
  return ast._tag === "Union" ? ast.types.flatMap(wanted) : [nouns[ast._tag] ?? "another value"]
}

const messageOf = ({ annotations }: { readonly annotations?: SchemaAST.AST["annotations"] }): string | undefined =>
  typeof annotations?.message === "string" ? annotations.message : undefined

/** `must be a string or an array`, or what the schema says itself; that a field may be null goes without saying. */
export const mustBe = (ast: SchemaAST.AST): string => {
  const own = messageOf(ast)
  if (own !== undefined) return own
  const words = [...new Set(wanted(ast))].filter((word) => word !== "null")
  return `must be ${alternatives(words)}`
}

/** `a`, `a or b`, `a, b or c`: without quotes, because the words are in JSON. */
export const alternatives = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`

/** A message without the syntax of types: the library's own says what a union expects in the words of TypeScript. */
export const plainMessage = (message: string): string => {
  const [, expected] = /^Expected (.*)$/s.exec(message) ?? []
  if (expected === undefined) return message
  const literals = expected.split(" | ").map((word) => /^"([^"]*)"$/.exec(word)?.[1])
  const words = literals.filter((word) => word !== undefined)
  return words.length === literals.length ? `must be ${alternatives(words)}` : "is not valid"
}

const ownWords = (issue: SchemaIssue.Leaf): string | undefined => {
  const annotations = "annotations" in issue ? issue.annotations : "ast" in issue ? issue.ast.annotations : undefined
  const message = annotations?.[issue._tag === "MissingKey" ? "messageMissingKey" : "message"]
  return typeof message === "string" ? message : undefined
}

/** What is wrong with one value; the value itself is never repeated. */
export const issueWords = (issue: SchemaIssue.Leaf): string => {
  const own = ownWords(issue)
  if (own !== undefined) return own
  switch (issue._tag) {
    case "MissingKey":
      return "is required"
    case "InvalidType":
      return mustBe(issue.ast)
    case "UnexpectedKey":
      return "is not known here"
    default:
      return "is not valid"
  }
}
