/** The client's types are the document's: a change of the contract is a change of this file, `npx vitest -u` writes it. */
import { describe, expect, it } from "@effect/vitest"
import { contract } from "../support/contract.ts"
import { declarations } from "../support/declarations.ts"

const head = `/** The contract as types, made from the OpenAPI document; \`test/clients/declarations.test.ts\` writes this file. */\n`

/** The data of a stream's events; an error in the stream becomes an error of the client's. */
const streams: ReadonlyArray<readonly [name: string, path: string]> = [
  ["MessageEvent", "/v1/messages"],
  ["ResponseEvent", "/v1/responses"]
]

describe("the client's types", () => {
  it("are those of the document", async () => {
    const events = streams.map(([name, path]) => [
      name,
      contract.paths[path]?.post?.responses["200"]?.content?.["text/event-stream"]?.schema
    ])
    const text = `${head}\n${declarations({ ...contract.components.schemas, ...Object.fromEntries(events) })}`
    await expect(text).toMatchFileSnapshot("../../src/client/contract.ts")
  })
})
