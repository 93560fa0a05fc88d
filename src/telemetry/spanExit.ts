import { Exit } from "effect"

/** What a failed span says of its failure: a code, no message (which may quote a cloud) and no stack. */
class SpanFailure extends Error {
  constructor(code: string) {
    super(code)
    this.name = "GatewayError"
    this.stack = `GatewayError: ${code}`
  }
}

const exits = new Map<string, Exit.Exit<never, Error>>()

/** The exit of a span that ended with an error of this low-cardinality code. */
export const failedSpan = (code: string): Exit.Exit<never, Error> => {
  const known = exits.get(code)
  if (known !== undefined) return known
  const exit = Exit.fail(new SpanFailure(code))
  exits.set(code, exit)
  return exit
}
