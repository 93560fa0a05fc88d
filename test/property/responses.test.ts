/** However an upstream's stream is cut into pieces, the caller gets the same, and the flags of the whole reply. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { governanceOfCalls } from "../../src/governance/accumulate.ts"
import { sse } from "../../src/stream/framing.ts"
import { answerOf } from "../../src/surfaces/responsesReply.ts"
import { responsesProtocol } from "../../src/surfaces/responsesStream.ts"
import { runNow } from "../../src/wire/slices.ts"
import { flagCall } from "../support/flagCall.ts"
import { eventsIn, parsed } from "../support/http.ts"
import {
  callEvents,
  ending,
  frameOf,
  functionCall,
  numbered,
  opening,
  responseOf,
  textEvents,
  textItem
} from "../support/responses.ts"
import { streamed } from "../support/streamed.ts"

const unscrubbed = (message: string) => message

/** What the caller gets when these bytes come in pieces that end at these places. */
const rewritten = (bytes: Buffer, cuts: ReadonlyArray<number>) =>
  streamed(responsesProtocol(unscrubbed), sse, bytes, cuts)

const destinations = [
  "https://example.com/a?b=c",
  "HTTP://EXAMPLE.com",
  "s3://bucket/key",
  "mailto:a@b.c",
  "10.1.2.3:80"
]
const Piece = Schema.Union([
  Schema.Literals([...destinations, "é", "😀", '"', "\\", "\\u0068ttps:\\/\\/x.y"]),
  Schema.String
])
const Call = Schema.Array(Piece)
const Cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 })))
const Calls = Schema.Array(Call)

describe("any chunking", () => {
  it.prop(
    "gives the same bytes, and the flags of the whole reply",
    [Calls, Cuts, Schema.Boolean],
    ([calls, cuts, raw]) => {
      const texts = calls.map((pieces) => (raw ? pieces.join("") : JSON.stringify({ value: pieces.join("") })))
      const items = texts.map((text, index) => functionCall(index + 1, text))
      const events = numbered([
        opening,
        ...textEvents(0, ["see https://example.com", "é"]),
        ...texts.flatMap((text, index) => callEvents(index + 1, text.match(/[\s\S]{1,3}/gu) ?? [])),
        ending([textItem("x"), ...items])
      ])
      const bytes = Buffer.from(events.map(frameOf).join(""))
      const once = rewritten(bytes, [])
      const often = rewritten(bytes, cuts)
      assert.deepStrictEqual(often, once)

      const response = JSON.stringify(responseOf([textItem("x"), ...items]))
      const whole = Result.getOrThrow(answerOf(Buffer.from(response), parsed(response), unscrubbed))
      const expected = items.flatMap((item) => flagCall({ ...item, id: item.call_id }) ?? [])
      const governance = runNow(governanceOfCalls(whole.calls, "spec"))
      const body = whole.body(governance)
      assert.deepStrictEqual(
        parsed(typeof body === "string" ? body : JSON.stringify(body)).x_gateway_governance,
        expected.length === 0 ? undefined : { flags: expected }
      )
      assert.deepStrictEqual(
        eventsIn(once.text).at(-1)?.json.response.x_gateway_governance,
        expected.length === 0 ? undefined : { flags: expected }
      )
      assert.strictEqual(once.flags, expected.length)
    }
  )

  it.prop(
    "a stream that breaks off anywhere is an error with the flags so far, never a success",
    [Calls, Cuts, Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000 }))],
    ([calls, cuts, at]) => {
      const texts = calls.map((pieces) => JSON.stringify({ value: pieces.join("") }))
      const events = numbered([
        opening,
        ...texts.flatMap((text, index) => callEvents(index, text.match(/[\s\S]{1,3}/gu) ?? [])),
        ending(texts.map((text, index) => functionCall(index, text)))
      ])
      const bytes = Buffer.from(events.map(frameOf).join(""))
      const cut = bytes.subarray(0, at % (bytes.length - 1))
      const { text } = rewritten(cut, cuts)
      assert.strictEqual(text, rewritten(cut, []).text)
      const got = eventsIn(text)
      assert.strictEqual(got.at(-1)?.event, "error")
      assert.strictEqual(got.at(-1)?.json.sequence_number, got.length - 1)
      assert.isFalse(got.some(({ event }) => event === "response.completed"))
      // What came of the calls is scanned as far as it came.
      const came = new Map<number, string>()
      for (const { event, json } of got) {
        if (event === "response.output_item.added") came.set(json.output_index, "")
        if (event === "response.function_call_arguments.delta")
          came.set(json.output_index, `${came.get(json.output_index) ?? ""}${json.delta}`)
      }
      const expected = [...came].flatMap(
        ([index, args]) => flagCall({ id: `call_${index}`, name: "fetch_page", arguments: args }) ?? []
      )
      assert.deepStrictEqual(
        got.at(-1)?.json.x_gateway_governance,
        expected.length === 0 ? undefined : { flags: expected }
      )
    }
  )
})
