/** The operator's own usage notice (`GATEWAY_NOTICE_FILE`), whose words an agency prescribes. */
import { Effect, Option } from "effect"
import { readRegularText } from "../regularFile.ts"
import { OperatorError } from "../wire/OperatorError.ts"

/** Characters; that of the Department of Defense has 1,300. */
const longest = 10_000

/** Plain text, with its lines; undefined where the operator names none. Fails where it is missing, empty, too long or no plain text. */
export const readNotice = Effect.fnUntraced(function* (file: Option.Option<string>) {
  if (Option.isNone(file)) return undefined
  const refuse = (why: string) => new OperatorError({ message: `GATEWAY_NOTICE_FILE: ${file.value} ${why}` })
  const read = yield* Effect.mapError(readRegularText(file.value), ({ message }) =>
    refuse(`cannot be read: ${message}. Name another, or unset it`)
  )
  const text = read
    .replace(/^\uFEFF/, "")
    .replace(/\r\n?/g, "\n")
    .trim()
  if (text === "") return yield* refuse("is empty")
  if (text.length > longest) return yield* refuse(`has more than ${longest} characters`)
  if (/[^\P{C}\n\t]|\uFFFD/u.test(text)) return yield* refuse("must be plain text in UTF-8, without control characters")
  return text
})
