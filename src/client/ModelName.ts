/** Model IDs as a type: a name without a level does not compile. */

const plainLevels = ["fedramp-low", "fedramp-moderate", "fedramp-high", "il2", "il4", "il5"] as const
type PlainLevel = (typeof plainLevels)[number]

/** What follows the last `:` of a model ID (docs/api.md#model-ids). */
export type Level = PlainLevel | "itar" | `${PlainLevel}+itar`

/** `<base_model>:<level>`. Whether the gateway serves it is for the gateway to say. */
export type ModelName = `${string}:${Level}`

const known: ReadonlySet<string> = new Set([...plainLevels, "itar", ...plainLevels.map((level) => `${level}+itar`)])

/** Narrows a text that came from outside, a setting say, to a model ID. */
export const isModelName = (text: string): text is ModelName => {
  const colon = text.lastIndexOf(":")
  return colon > 0 && known.has(text.slice(colon + 1))
}
