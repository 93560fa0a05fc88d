/** Google's generateContent, on Vertex: what is answered in a stream. */
import { Result } from "effect"
import type { FinishReason } from "../../api/ChatReply.ts"
import { cut, unreadable } from "../../model/UpstreamFault.ts"
import { isObject, type Json, readObject, readWrittenObject } from "../../wire/json.ts"
import { addText, finishOf } from "../answer.ts"
import type { Dialect, Pieces } from "../Dialect.ts"
import { geminiFault } from "./faults.ts"
import { brokenIn, callIn, finishReasonOf, partsOf, textIn } from "./reply.ts"
import { readUsage } from "./usage.ts"

export const stream: Dialect["stream"] = (route) => {
  const usage: { [key: string]: Json } = {}
  let calls = 0
  let finish: FinishReason | undefined

  const say = (part: Json, out: Pieces): void => {
    const text = textIn(part)
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
      if (isObject(body.usageMetadata)) Object.assign(usage, body.usageMetadata)
      const broken = brokenIn(body)
      if (broken !== undefined) return broken
      finish = finishReasonOf(body) ?? finish
      for (const part of partsOf(body)) say(part, out)
      return undefined
    },
    end: () =>
      finish === undefined
        ? Result.fail(cut)
        : Result.succeed({ finishReason: finishOf(finish, calls), usage: readUsage(usage, route) }),
    // The vendor has no terminal event: counts may follow the finish reason, and the stream's end is its end.
    ended: () => false,
    usage: () => readUsage(usage, route)
  }
}
