import { assert, describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { Api } from "../../src/contract/Api.ts"
import { ChatRequest } from "../../src/contract/Chat.ts"
import { Completion } from "../../src/contract/ChatReply.ts"
import { EmbeddingList, EmbeddingsRequest } from "../../src/contract/Embeddings.ts"
import { ApiErrorBody, MessagesErrorBody } from "../../src/contract/Errors.ts"
import { CountRequest, MessagesRequest } from "../../src/contract/Messages.ts"
import { CountReply, Message } from "../../src/contract/MessagesReply.ts"
import { ResponsesRequest } from "../../src/contract/Responses.ts"
import { ResponseObject } from "../../src/contract/ResponsesReply.ts"
import { Health, ModelList, ModelObject } from "../../src/contract/System.ts"
import { usageNotice } from "../../src/contract/usageNotice.ts"
import { parsed } from "../support/http.ts"

const text = `${JSON.stringify(OpenApi.fromApi(Api), null, 2)}\n`
/** As a reader of the file sees it. */
const document = parsed(text)
const operations: ReadonlyArray<readonly [path: string, operation: ReturnType<typeof parsed>]> = Object.entries(
  document.paths
).flatMap(([path, item]) => Object.values(Object(item)).map((operation) => [path, operation] as const))

/** Every object in the document, with where it is. */
function* walk(value: unknown, at = "#"): Generator<readonly [at: string, value: Record<string, unknown>]> {
  if (Array.isArray(value)) for (const [index, inner] of value.entries()) yield* walk(inner, `${at}/${index}`)
  else if (typeof value === "object" && value !== null) {
    yield [at, Object(value)]
    for (const [key, inner] of Object.entries(value)) yield* walk(inner, `${at}/${key}`)
  }
}

describe("the OpenAPI document", () => {
  it("is the one that clients were made from: review a change, then update the golden file", async () => {
    await expect(text).toMatchFileSnapshot("../golden/openapi.json")
  })

  it("says who may use the service, where it is, and how to authenticate", () => {
    assert.include(document.info.description, usageNotice)
    assert.deepEqual(
      document.servers.map(({ url }: { url: string }) => url),
      ["/"]
    )
    const { description: _, ...scheme } = document.components.securitySchemes.apiKey
    assert.deepEqual(scheme, { type: "apiKey", name: "x-api-key", in: "header" })
    for (const [path, { security }] of operations) {
      assert.deepEqual(security, path === "/health" ? [] : [{ apiKey: [] }], path)
    }
  })

  it("has the nine parts of the contract", () => {
    assert.deepEqual(Object.keys(document.paths).sort(), [
      "/health",
      "/v1/chat/completions",
      "/v1/embeddings",
      "/v1/messages",
      "/v1/messages/count_tokens",
      "/v1/models",
      "/v1/models/{id}",
      "/v1/responses"
    ])
  })

  it("resolves every reference, and uses every component", () => {
    const used = new Set<string>()
    for (const [at, { $ref }] of walk(document)) {
      if (typeof $ref !== "string") continue
      used.add($ref)
      const found = $ref
        .slice(2)
        .split("/")
        .reduce((value, key) => Object(value)[key], document)
      assert.isDefined(found, `${at} → ${$ref}`)
    }
    for (const kind of ["schemas", "headers"]) {
      for (const name of Object.keys(document.components[kind])) {
        assert.include([...used], `#/components/${kind}/${name}`)
      }
    }
  })

  it("names operations and tags once, and describes them", () => {
    const names = operations.map(([, { operationId }]) => operationId)
    assert.strictEqual(new Set(names).size, names.length)
    const tags = document.tags.map(({ name }: { name: string }) => name)
    for (const [path, { summary, description, tags: own }] of operations) {
      assert.isNotEmpty(summary, path)
      assert.isNotEmpty(description, path)
      assert.includeMembers(tags, own)
    }
    for (const { description } of document.tags) assert.isNotEmpty(description)
  })

  it("shows nothing of the library that made it, and no schema that tools stumble over", () => {
    for (const [at, value] of walk(document)) {
      if (at.includes("/example")) continue
      assert.isUndefined(value["x-effect-stream"], at)
      if (value.type === "array") assert.isDefined(value.items, at)
      assert.notTypeOf(value.default, "object", at)
      assert.notStrictEqual(Object(value.allOf).length, 1, at)
      if (Array.isArray(value.anyOf)) for (const one of value.anyOf) assert.isNotEmpty(one, at)
      assert.notInclude([value.maximum, -Number(value.minimum)], Number.MAX_SAFE_INTEGER, at)
    }
  })

  it("has the statuses of the contract: 401 is the messages endpoints' only", () => {
    const plain = ["200", "400", "405", "408", "417", "431", "500", "503"]
    const common = [...plain, "403", "413", "415", "429", "502", "504"]
    for (const [path, { responses }] of operations) {
      const expected = path.startsWith("/v1/messages")
        ? [...common, "401"]
        : path.startsWith("/v1/models")
          ? [...plain, "403", "429", ...(path === "/v1/models" ? [] : ["404"])]
          : path === "/health"
            ? plain
            : common
      assert.deepEqual(Object.keys(responses).sort(), expected.sort(), path)
    }
  })

  it("documents both faces of a streaming endpoint", () => {
    for (const path of ["/v1/chat/completions", "/v1/messages", "/v1/responses"]) {
      const { content } = document.paths[path].post.responses["200"]
      assert.deepEqual(Object.keys(content), ["application/json", "text/event-stream"], path)
    }
  })

  it("documents the headers of replies, and of refusals when to come back", () => {
    for (const [path, { responses }] of operations) {
      for (const [status, { headers, description }] of Object.entries<ReturnType<typeof parsed>>(responses)) {
        assert.isDefined(headers["x-request-id"], `${path} ${status}`)
        assert.isNotEmpty(description)
        if (status === "429") assert.isDefined(headers["retry-after"], path)
      }
      const inference = path.startsWith("/v1/") && !path.startsWith("/v1/models")
      assert.strictEqual(responses["200"].headers["x-gateway-served-by"] !== undefined, inference, path)
    }
  })

  const schemas: Readonly<
    Record<string, readonly [reply: Schema.ConstraintDecoder<unknown>, request?: Schema.ConstraintDecoder<unknown>]>
  > = {
    createChatCompletion: [Completion, ChatRequest],
    createMessage: [Message, MessagesRequest],
    countMessageTokens: [CountReply, CountRequest],
    createResponse: [ResponseObject, ResponsesRequest],
    createEmbeddings: [EmbeddingList, EmbeddingsRequest],
    listModels: [ModelList],
    getModel: [ModelObject],
    getHealth: [Health]
  }
  const accepts = (schema: Schema.ConstraintDecoder<unknown>, value: unknown) =>
    Result.isSuccess(Schema.decodeUnknownResult(schema)(value))

  it.each(operations.map(([path, operation]) => [operation.operationId, path, operation] as const))(
    "gives examples that the contract accepts (%s)",
    (name, path, { requestBody, responses }) => {
      const [reply, request] = schemas[name] ?? []
      assert.isDefined(reply)
      if (reply === undefined) return
      assert.isTrue(accepts(reply, responses["200"].content["application/json"].examples.reply.value))
      const bodies = Object.values<ReturnType<typeof parsed>>(requestBody?.content["application/json"].examples ?? {})
      assert.strictEqual(bodies.length > 0, request !== undefined)
      for (const { value, summary } of bodies) assert.isTrue(request !== undefined && accepts(request, value), summary)
      for (const [status, { content }] of Object.entries<ReturnType<typeof parsed>>(responses)) {
        if (Number(status) < 400 || (path === "/health" && status === "503")) continue
        const error = path.startsWith("/v1/messages") && status !== "431" ? MessagesErrorBody : ApiErrorBody
        assert.isTrue(accepts(error, content["application/json"].example), status)
      }
    }
  )
})
