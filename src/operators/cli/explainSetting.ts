/** Says in one line which setting is wrong, and what would work. The value is not repeated: it may be a secret. */
import { type Config, SchemaIssue } from "effect"
import { oneLine } from "../../limits/files.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** What the schemas' own words leave out, by those words. */
const examples: ReadonlyArray<readonly [words: RegExp, example: string]> = [
  [/Duration string/, 'a time such as "500 millis", "30 seconds" or "5 minutes"'],
  [/an integer|NumberFromString/, "a whole number"],
  [/boolean|"true" \| "yes"/, "true or false"]
]

const inWords = (message: string): string => {
  const example = examples.find(([words]) => words.test(message))
  if (example !== undefined) return `must be ${example[1]}`
  const values = /^Expected ((?:"[^"]*"(?: \| )?)+)$/.exec(message)?.[1]
  if (values !== undefined) return `must be one of ${values.replaceAll('"', "").replaceAll(" | ", ", ")}`
  return oneLine(message.replace(/^Expected (a value )?/, "must be "))
}

export const explainSetting = ({ cause }: Config.ConfigError): string => {
  if (cause._tag !== "SchemaError") return cause.message
  const { issues } = format(cause.issue)
  const problems = issues.map(({ message, path = [] }) => {
    const name = path.map((part) => String(typeof part === "object" ? part.key : part)).join("_")
    return message === "Missing key" ? `${name} is not set` : `${name} ${inWords(message)}`
  })
  return [...new Set(problems)].join("; ")
}
