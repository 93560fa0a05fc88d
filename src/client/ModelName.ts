/** Model IDs as a type: a name without a level does not compile. */
import { isLevel, type Level } from "../catalog/names.ts"
import type { ShippedModels } from "./contract.ts"

/** `<base_model>:<level>`. Whether it is served, only the gateway knows. */
export type ModelName = `${string}:${Level}`

export type Purpose = keyof ShippedModels

/** A shipped model of a purpose, or any other name; written so that an editor still offers the first. */
export type ModelFor<P extends Purpose> = ShippedModels[P] | (ModelName & Record<never, never>)

export type ForModel<P extends Purpose, Request> = Request & { readonly model: ModelFor<P> }

/** Narrows a text that came from outside, a setting say, to a model ID. */
export const isModelName = (text: string): text is ModelName => {
  const colon = text.lastIndexOf(":")
  return colon > 0 && isLevel(text.slice(colon + 1))
}
