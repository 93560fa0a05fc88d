/** What a schema wants, in words for a caller: for the messages of unions, and for the errors of values without one. */
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
  if (ast._tag === "Literal") return [JSON.stringify(ast.literal)]
  return ast._tag === "Union" ? ast.types.flatMap(wanted) : [nouns[ast._tag] ?? "another value"]
}

/** `must be a string or an array`; that a field may be null goes without saying. */
export const mustBe = (ast: SchemaAST.AST): string => {
  const words = [...new Set(wanted(ast))].filter((word) => word !== "null")
  return `must be ${words.join(" or ")}`
}

/** The words that a schema brings for an issue. */
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
