/** The client's types are the document's: a change of the contract is a change of this file, `npx vitest -u` writes it. */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { clouds } from "../../src/catalog/clouds.ts"
import { bestSites } from "../../src/catalog/Partition.ts"
import { makeIndex } from "../../src/catalog/Resolver.ts"
import { purposePaths } from "../../src/contract/Api.ts"
import { contract } from "../support/contract.ts"
import { declarations } from "../support/declarations.ts"

const head = `/** The contract as types, made from the OpenAPI document; \`test/clients/declarations.test.ts\` writes this file. */\n`

/** The data of a stream's events; an error in the stream becomes an error of the client's. */
const streams: ReadonlyArray<readonly [name: string, path: string]> = [
  ["MessageEvent", "/v1/messages"],
  ["ResponseEvent", "/v1/responses"]
]

/** Where each operation is: its method and path, the statuses that are answers, and the shape of its refusals. */
const operations = () => {
  const entries = Object.entries(contract.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, responses }]) => {
      const bodies = Object.entries(responses).map(([status, { content }]) => [status, bodyOf(content)] as const)
      const answers = bodies.filter(([, body]) => !isRefusal(body)).map(([status]) => status)
      const refusal = bodies.find(([, body]) => isRefusal(body))?.[1]
      return `  ${operationId}: { method: "${method.toUpperCase()}", path: "${path}", answers: [${answers.join(", ")}], refusal: "${refusal}" }`
    })
  )
  return `/** Where each operation is, the statuses of its answers, and the body of its refusals. */
export const operations = {\n${entries.join(",\n")}\n} as const\n`
}

/** The models of the shipped catalog where every cloud is configured, for completion in an editor. */
const shippedModels = () => {
  const index = makeIndex(Result.getOrThrow(shippedCatalog), bestSites(clouds), purposePaths)
  const fields = (["chat", "messages", "responses", "embeddings"] as const).map((purpose) => {
    const ids = index.list.flatMap(({ id }) => (Result.isSuccess(index.resolve(id, purpose)) ? [`    | "${id}"`] : []))
    return `  readonly ${purpose}:\n${ids.join("\n")}\n`
  })
  return `/** The IDs that the shipped catalog serves for a purpose, where every cloud is configured. */
export interface ShippedModels {\n${fields.join("")}}\n`
}

const bodyOf = (content: Content): string => String(content?.["application/json"]?.schema.$ref).split("/").at(-1) ?? ""
const isRefusal = (body: string): boolean => body.endsWith("ErrorBody")
type Content = (typeof contract.paths)[string][string]["responses"][string]["content"]

describe("the client's types", () => {
  it("are those of the document", async () => {
    const events = streams.map(([name, path]) => [
      name,
      contract.paths[path]?.post?.responses["200"]?.content?.["text/event-stream"]?.schema
    ])
    const text = `${head}\n${operations()}\n${shippedModels()}\n${declarations({ ...contract.components.schemas, ...Object.fromEntries(events) })}`
    await expect(text).toMatchFileSnapshot("../../src/client/contract.ts")
  })
})
