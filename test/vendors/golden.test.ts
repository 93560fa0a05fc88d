/**
 * Both directions of the dialects, as files that are read: the upstream's body for a request with
 * what was adjusted, and the completion
 * and the chunks for an upstream's reply and stream. `UPDATE_GOLDEN=1` writes what is expected anew.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Cloud } from "../../src/catalog/clouds.ts"
import { Completion } from "../../src/contract/ChatReply.ts"
import { chunkWriter, renderCompletion } from "../../src/surfaces/chatReply.ts"
import { asked, chunksOf, folded, foldedAnswer, hear, hearStream, routeOf, withoutRandomIds } from "./support.ts"

const Golden = Schema.Struct({
  route: Schema.Struct({ model: Schema.String, cloud: Cloud }),
  chat: Schema.JsonObject,
  /** The upstream's reply and its stream. */
  body: Schema.JsonObject,
  events: Schema.Array(Schema.Json),
  expected: Schema.optionalKey(Schema.Json)
})

const folder = new URL("../golden/dialect/", import.meta.url)

describe.each(readdirSync(folder))("%s", (name) => {
  it.each(readdirSync(new URL(name, folder)))("%s", (kind) => {
    const file = new URL(`${name}/${kind}`, folder)
    const golden = Schema.decodeUnknownSync(Golden)(JSON.parse(readFileSync(file, "utf8")))
    const route = routeOf(golden.route.model, golden.route.cloud)
    const answer = hear(route, golden.body)
    const heard = Result.getOrThrow(hearStream(route, golden.events))
    const heading = { id: "chatcmpl-golden", created: 1, model: "x:il2" }
    const completion = renderCompletion(answer, heading)
    const writer = chunkWriter({ ...heading, includeUsage: true })
    const { adjusted, body: upstream } = asked(route, golden.chat)
    const said = withoutRandomIds({
      upstream,
      adjusted,
      completion: JSON.parse(JSON.stringify(completion)),
      chunks: [...chunksOf(writer, heard.pieces, heard.ending), "[DONE]"].map((data) => `data: ${data}`)
    })
    if (process.env.UPDATE_GOLDEN === "1") {
      writeFileSync(file, `${JSON.stringify({ ...golden, expected: said }, null, 2)}\n`)
    }
    Schema.decodeUnknownSync(Completion)(completion)
    expect(folded(heard)).toEqual(foldedAnswer(answer))
    if (process.env.UPDATE_GOLDEN !== "1") expect(said).toStrictEqual(golden.expected)
  })
})
