/** Google's generateContent, on Vertex: what is answered in a stream. */
import { Result } from "effect"
import { cut, misshapen, unreadable } from "../../catalog/UpstreamFault.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import { isObject, type Json, readObject, readWrittenObject } from "../../wire/json.ts"
import { addText, finishOf } from "../answer.ts"
import type { Dialect, Pieces } from "../Dialect.ts"
import { geminiFault } from "./faults.ts"
import { callIn, finishIn, hasPrintableCalls, partsOf, readUsage, signed, textIn, textSignatureIn } from "./reply.ts"

export const stream: Dialect["stream"] = (route) => {
  const counts: { [key: string]: Json } = {}
  let calls = 0
  let signature: string | undefined
  let finish: FinishReason | undefined

  const usage = () => readUsage(counts, route)

  const say = (part: Json, out: Pieces): void => {
    const text = textIn(part)
    signature = textSignatureIn(part) ?? signature
    addText(text, out)
    const call = text === "" ? callIn(part) : undefined
    if (call === undefined) return
    const index = calls++
    out.push({ type: "call", index, id: call.id, name: call.name, extra: call.extra })
    out.push({ type: "arguments", index, text: call.args })
    out.push({ type: "call-end", index })
  }

  return {
    step: ({ data }, out) => {
      // Only arguments need numbers as they were written, and to keep those takes longer.
      const body = data.includes("functionCall") ? readWrittenObject(data) : readObject(data)
      if (body === undefined) return unreadable
      if (isObject(body.error)) return geminiFault(body.error)
      // Counts come once, or as totals so far: the latest of each is right (docs/upstreams.md#gemini-usage).
      if (isObject(body.usageMetadata)) Object.assign(counts, body.usageMetadata)
      const finished = finishIn(body)
      if (Result.isFailure(finished)) return finished.failure
      if (!hasPrintableCalls(body)) return misshapen
      finish = finished.success ?? finish
      for (const part of partsOf(body)) say(part, out)
      return undefined
    },
    end: (out) => {
      if (finish === undefined) return Result.fail(cut)
      const extra = signed(signature)
      if (extra !== undefined) out.push({ type: "extra", extra })
      return Result.succeed({ finishReason: finishOf(finish, calls), usage: usage() })
    },
    // The vendor has no terminal event: counts may follow the finish reason, and the stream's end is its end.
    ended: () => false,
    usage
  }
}
