/** What Titan Text Embeddings takes, and the vectors that it answers. */
import { invalid } from "../http.ts"
import { arrayOf, type JsonObject, stringOf } from "../json.ts"
import { insistOn } from "../shape.ts"
import { countTokens } from "../tokens.ts"

const MAX_TOKENS = 8192
const MAX_CHARACTERS = 50_000

/** Words, parts of words (they bring "model" and "models" close to each other), and pairs of words, with their weights. */
const features = (text: string): ReadonlyArray<readonly [string, number]> => {
  const terms = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const trigrams = (term: string) =>
    Array.from({ length: Math.max(term.length - 2, 0) }, (_, at) => term.slice(at, at + 3))
  return [
    ...terms.map((term) => [term, term.length > 3 ? 1 : 0.3] as const),
    ...terms.flatMap((term) => trigrams(term).map((part) => [`#${part}`, 0.4] as const)),
    ...terms.slice(1).map((term, before) => [`${terms[before]} ${term}`, 0.5] as const)
  ]
}

/** FNV-1a. A cryptographic hash of every trigram of a long text would hold up the other streams. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

const mixed = (hash: number): number => {
  const once = Math.imul(hash ^ (hash >>> 16), 0x7feb352d)
  const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b)
  return twice ^ (twice >>> 16)
}

const vectorOf = (text: string, dimensions: number): ReadonlyArray<number> => {
  const vector = new Float64Array(dimensions)
  // A small common direction, so that a text without words has a vector too.
  vector[0] = 0.05
  for (const [feature, weight] of features(text)) {
    let hash = hashOf(feature)
    // A feature moves eight coordinates, so that unrelated texts that share one by chance stay apart.
    for (let moved = 0; moved < 8; moved++) {
      hash = mixed(hash)
      const index = (hash >>> 1) % dimensions
      vector[index] = (vector[index] ?? 0) + (hash & 1 ? weight : -weight)
    }
  }
  return [...vector]
}

const malformed = (_: string, detail: string) =>
  invalid(`Malformed input request: ${detail}, please reformat your input and try again.`)

/**
 * The reply of Titan Text Embeddings V2. Deterministic vectors from hashed words, word pairs and trigrams: texts that share words
 * are close. Limits: 8,192 tokens and 50,000 characters (AWS: Titan text embeddings). Throws a `Refusal`.
 */
export const embedTitan = (body: JsonObject): JsonObject => {
  const { inputText, dimensions = 1024, normalize, embeddingTypes, ...others } = body
  const [stray] = Object.keys(others)
  const text = stringOf(inputText)
  const types = arrayOf(embeddingTypes)
  const rules = {
    [`#: extraneous key [${stray}] is not permitted`]: stray === undefined,
    "#: required key [inputText] not found": inputText !== undefined,
    "#/inputText: expected type: String": typeof inputText === "string",
    "expected minLength: 1, actual: 0": text.length >= 1,
    [`expected maxLength: ${MAX_CHARACTERS}, actual: ${text.length}`]: text.length <= MAX_CHARACTERS,
    [`#/dimensions: ${dimensions} is not a valid enum value`]: [256, 512, 1024].includes(Number(dimensions)),
    "#/embeddingTypes/0: not a valid enum value": types.every((type) => type === "float" || type === "binary")
  }
  insistOn(rules, "", malformed)
  const tokens = countTokens(text)
  const long = `400 Bad Request: Too many input tokens. Max input tokens: ${MAX_TOKENS}, request input token count: ${tokens}`
  insistOn({ [long]: tokens <= MAX_TOKENS })
  const raw = vectorOf(text, Number(dimensions))
  const length = normalize === false ? 1 : Math.hypot(...raw)
  const float = raw.map((value) => value / length)
  const binary = float.map((value) => (value > 0 ? 1 : 0))
  const floats = types.length === 0 || types.includes("float")
  return {
    ...(floats && { embedding: float }),
    embeddingsByType: { ...(floats && { float }), ...(types.includes("binary") && { binary }) },
    inputTextTokenCount: tokens
  }
}
