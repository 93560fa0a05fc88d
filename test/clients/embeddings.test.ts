/** Embeddings as applications ask for them: OpenAI's SDK, LangChain, the AI SDK. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, describe, it } from "@effect/vitest"
import { OpenAIEmbeddings } from "@langchain/openai"
import { cosineSimilarity, embed, embedMany } from "ai"
import OpenAI from "openai"
import { sharedGateway } from "../support/shared.ts"

const model = "titan-embed-text-v2:il5"
const gateway = sharedGateway()

const key = { "x-api-key": "sandbox-key" }
const texts = ["The cat sleeps on the warm sofa", "A cat sleeps on a sofa", "Quarterly tax returns of a company"]
const norm = (vector: ReadonlyArray<number>) => Math.hypot(...vector)

const failure = async (attempt: () => PromiseLike<unknown>) => {
  try {
    await attempt()
  } catch (error) {
    return error
  }
  return assert.fail("it did not fail")
}

/** What every client must make of the three texts. */
const judge = (vectors: ReadonlyArray<ReadonlyArray<number>>) => {
  assert.deepStrictEqual(
    vectors.map((vector) => vector.length),
    [1024, 1024, 1024]
  )
  const [a = [], b = [], c = []] = vectors
  for (const vector of vectors) assert.approximately(norm(vector), 1, 1e-5)
  assert.isAbove(cosineSimilarity([...a], [...b]), cosineSimilarity([...a], [...c]))
}

describe("openai", () => {
  const client = () =>
    new OpenAI({ apiKey: "not-read", baseURL: `${gateway.url}/v1`, defaultHeaders: key, maxRetries: 0 })

  it("asks for base64 by default and decodes it", async () => {
    const { data, usage } = await client().embeddings.create({ model, input: texts })
    judge(data.map(({ embedding }) => embedding))
    const floats = await client().embeddings.create({ model, input: texts, encoding_format: "float" })
    assert.deepStrictEqual(
      data.map(({ embedding }) => embedding),
      floats.data.map(({ embedding }) => embedding.map(Math.fround))
    )
    assert.deepStrictEqual(floats.usage, usage)
  })

  it("tells a wrong model, a token array, a long text and a limit apart", async () => {
    const create = (input: string | Array<string> | Array<number>, id = model) =>
      failure(() => client().embeddings.create({ model: id, input }))
    const chat = await create("a", "gpt-5.1:il5")
    assert(chat instanceof OpenAI.BadRequestError)
    assert.match(chat.message, /\/v1\//)
    assert.match(String(await create([1, 2, 3])), /token arrays are not accepted, because/)
    assert.match(String(await create(["a", "word ".repeat(9000)])), /input\[1\].*8,192 tokens/)
    const limit = await create("[sandbox: status=429 retry-after=3] a")
    assert(limit instanceof OpenAI.RateLimitError)
    assert.strictEqual(limit.headers.get("retry-after"), "3")
  })
})

describe("@langchain/openai", () => {
  const embeddings = (fields = {}) =>
    new OpenAIEmbeddings({
      model,
      apiKey: "not-read",
      maxRetries: 0,
      configuration: { baseURL: `${gateway.url}/v1`, defaultHeaders: key },
      ...fields
    })

  it("embeds documents and a query", async () => {
    const vectors = await embeddings().embedDocuments(texts)
    judge(vectors)
    const query = await embeddings().embedQuery("cat on the sofa")
    const [near = [], , far = []] = vectors
    assert.isAbove(cosineSimilarity(query, near), cosineSimilarity(query, far))
  })

  it("in batches, in order", async () => {
    const many = Array.from({ length: 30 }, (_, at) => `document ${at}`)
    const vectors = await embeddings({ batchSize: 7 }).embedDocuments(many)
    assert.strictEqual(vectors.length, 30)
    assert.deepStrictEqual(vectors[29], await embeddings().embedQuery("document 29"))
  })

  it("takes a dimensions setting without changing the size", async () => {
    assert.strictEqual((await embeddings({ dimensions: 256 }).embedQuery("a")).length, 1024)
  })
})

describe("@ai-sdk/openai-compatible", () => {
  const provider = () => createOpenAICompatible({ name: "gateway", baseURL: `${gateway.url}/v1`, headers: key })
  const embeddingModel = () => provider().embeddingModel(model)

  it("embed", async () => {
    const { embedding, usage } = await embed({ model: embeddingModel(), value: "hello", maxRetries: 0 })
    assert.strictEqual(embedding.length, 1024)
    assert.isAbove(usage.tokens, 0)
  })

  it("embedMany", async () => {
    const { embeddings, usage } = await embedMany({ model: embeddingModel(), values: texts, maxRetries: 0 })
    judge(embeddings)
    assert.isAbove(usage.tokens, 10)
  })

  it("shows our message", async () => {
    const error = await failure(() => embed({ model: embeddingModel(), value: "", maxRetries: 0 }))
    assert.match(String(error), /input\[0\]: must not be empty/)
  })
})
