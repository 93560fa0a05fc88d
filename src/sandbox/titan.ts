/** Titan Text Embeddings: the checks of a request, and its vectors. */
import { invalid } from "./http.ts"
import { arrayOf, type JsonObject, numberOf, printed, stringOf } from "./json.ts"
import { insist } from "./shape.ts"
import { countTokens } from "./tokens.ts"

const MAX_TOKENS = 8192
const MAX_CHARACTERS = 50_000

/** The words, and all of their trigrams, which bring "model" and "models" close to each other. */
const features = (text: string): ReadonlyArray<string> =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((word) => [
    word,
    ...Array.from({ length: Math.max(word.length - 2, 0) }, (_, at) => `#${word.slice(at, at + 3)}`)
  ])

const vectorOf = (text: string, dimensions: number): ReadonlyArray<number> => {
  const vector = new Float64Array(dimensions)
  // A small common direction, so that a text without words has a vector too.
  vector[0] = 0.05
  for (const feature of features(text)) {
    // FNV-1a. A cryptographic hash of every trigram of a long text would block other streams.
    let hash = 0x811c9dc5
    for (let i = 0; i < feature.length; i++) hash = Math.imul(hash ^ feature.charCodeAt(i), 0x01000193)
    // A feature moves eight coordinates, so that unrelated texts that share one by chance stay apart.
    for (let moved = 0; moved < 8; moved++) {
      hash = Math.imul(hash ^ (hash >>> 15), 0x7feb352d)
      const index = (hash >>> 1) % dimensions
      vector[index] = (vector[index] ?? 0) + (hash & 1 ? 1 : -1)
    }
  }
  return [...vector]
}

const malformed = (_: string, detail: string) =>
  invalid(`Malformed input request: ${detail}, please reformat your input and try again.`)

/** The reply of Titan Text Embeddings V2, within its limits (AWS: Titan text embeddings). Throws a `Refusal`. */
export const embedTitan = (body: JsonObject): JsonObject => {
  const { inputText, dimensions = 1024, normalize, embeddingTypes, ...others } = body
  const [stray] = Object.keys(others)
  const text = stringOf(inputText)
  const length = [...text].length
  const size = numberOf(dimensions) ?? 0
  const types = arrayOf(embeddingTypes)
  const rules = {
    [`#: extraneous key [${stray}] is not permitted`]: stray === undefined,
    "#: required key [inputText] not found": inputText !== undefined,
    "#/inputText: expected type: String": typeof inputText === "string",
    "expected minLength: 1, actual: 0": length >= 1,
    [`expected maxLength: ${MAX_CHARACTERS}, actual: ${length}`]: length <= MAX_CHARACTERS,
    "#/normalize: expected type: Boolean": normalize === undefined || typeof normalize === "boolean",
    "#/embeddingTypes: expected type: JSONArray": embeddingTypes === undefined || Array.isArray(embeddingTypes),
    [`#/dimensions: ${printed(dimensions)} is not a valid enum value`]: [256, 512, 1024].includes(size),
    "#/embeddingTypes/0: not a valid enum value": types.every((type) => type === "float" || type === "binary")
  }
  insist(rules, "", malformed)
  const tokens = countTokens(text)
  const long = `400 Bad Request: Too many input tokens. Max input tokens: ${MAX_TOKENS}, request input token count: ${tokens}`
  insist({ [long]: tokens <= MAX_TOKENS })
  const raw = vectorOf(text, size)
  const norm = normalize === false ? 1 : Math.hypot(...raw)
  const float = raw.map((value) => value / norm)
  const binary = float.map((value) => (value > 0 ? 1 : 0))
  const floats = types.length === 0 || types.includes("float")
  return {
    ...(floats && { embedding: float }),
    embeddingsByType: { ...(floats && { float }), ...(types.includes("binary") && { binary }) },
    inputTextTokenCount: tokens
  }
}
