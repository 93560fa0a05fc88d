/** What chat completions and Responses have in common: images, tools, efforts, sampling and limits. */
import { type JsonObject, objectOf, stringOf } from "../json.ts"
import { fileOf, sniff } from "../media.ts"
import type { GptModel } from "../models.ts"
import { anything, quoted, type Shape } from "../shape.ts"
import type { Part, Tool, Turn } from "../turn.ts"
import { filled, insist, typed, unsupported, variant, where } from "./shape.ts"

/** An image by its URL, which is a data URI: nothing is fetched. */
export const imageOf = (model: GptModel, url: unknown, path: string): Part => {
  const [, data] = /^data:image\/(?:png|jpeg|gif|webp);base64,(.*)$/s.exec(stringOf(url)) ?? []
  const { length, type } = sniff(data)
  insist(
    {
      "This model does not support image inputs.": model.inputs.includes("image"),
      "Invalid image URL. Only data URIs of supported image types are accepted.": data !== undefined,
      "The image data you provided does not represent a valid image. Please check your input and try again.":
        type.startsWith("image/")
    },
    path
  )
  return fileOf(type, length)
}

/** What a message says: a text, or parts of these types. */
export const contentOf = (parts: Readonly<Record<string, Shape<Part>>>): Shape<ReadonlyArray<Part>> => {
  const list = filled(variant("type", parts))
  return (value, path) => (typeof value === "string" ? [{ text: value }] : list(value, path))
}

/** A part that is a text. */
export const textPart: Shape<Part> = (value) => ({ text: stringOf(objectOf(value).text) })

/** A function. */
export const toolOf = (value: unknown, path: string): Tool => {
  const { name: given, description, parameters = null } = objectOf(value)
  const name = stringOf(given)
  const schema = objectOf(parameters)
  const said =
    "Invalid '{path}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
  insist({ [said]: /^[a-zA-Z0-9_-]{1,64}$/.test(name) }, `${path}.name`)
  const wrong = `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(schema.type ?? "None")}'.`
  insist({ [wrong]: parameters === null || schema.type === "object" }, `${path}.parameters`)
  return { name, description: stringOf(description), schema }
}

/** A tool chosen by its name. */
export const chosen = (name: string, tools: ReadonlyArray<Tool>): Turn["choice"] => {
  const known = tools.some((tool) => tool.name === name)
  insist({ [`Tool choice '${name}' not found in 'tools' parameter.`]: known }, "tool_choice")
  return { name }
}

export const effortOf = ({ id, thinking: { efforts } }: GptModel): Shape<string> =>
  typed(
    (effort): effort is string => efforts.some((one) => one === effort),
    (_, effort) =>
      `Unsupported value: '${String(effort)}' is not supported with the '${id}' model. Supported values are: ${quoted(efforts)}.`
  )

/** A sampling parameter from 0 to this. */
export const upTo = (most: number) =>
  where(anything, (value) => ({
    [`Invalid '{path}': expected a value between 0 and ${most}.`]:
      typeof value !== "number" || (value >= 0 && value <= most)
  }))

/** A whole number of tokens. */
export const tokens = (least: number): Shape<number> =>
  typed(
    (limit): limit is number => Number.isInteger(limit) && Number(limit) >= least,
    (path) => `Invalid '${path}': integer below minimum value. Expected a value >= ${least}.`
  )

/** Sampling parameters: a reasoning model takes them only while it does not reason. */
export const checkSampling = (asked: JsonObject, names: string, model: GptModel, effort: string): void => {
  for (const name of model.inlineReasoning || effort === "none" ? [] : names.split(" "))
    insist({ [unsupported(name)]: (asked[name] ?? null) === null }, name)
}
