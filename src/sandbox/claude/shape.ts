/** Shapes of requests to Claude: what is not so is refused in Anthropic's words. */
import { Refusal } from "../http.ts"
import type { Json } from "../json.ts"
import { isObject } from "../json.ts"
import { type Shape, shapesIn } from "../shape.ts"

/** The refusal of what stands at a path; with no path, of the request. */
export const refusal = (path: string, message: string): Refusal =>
  new Refusal(400, path === "" ? message : `${path}: ${message}`)

const under = (path: string, name: string | number) => (path === "" ? String(name) : `${path}.${name}`)
const quoted = (names: ReadonlyArray<string>): string => names.map((name) => `'${name}'`).join(", ")

export const { closed, variant, list } = shapesIn({
  field: under,
  item: under,
  inside: under,
  unknown: (path, name) => refusal(under(path, name), "Extra inputs are not permitted"),
  missing: (path, name) => refusal(under(path, name), "Field required"),
  noObject: (path) => refusal(path, "Input should be a valid dictionary"),
  noList: (path) => refusal(path, "Input should be a valid list"),
  noVariant: (path, tag, name, known) =>
    refusal(path, `Input tag '${name}' found using '${tag}' does not match any of the expected tags: ${quoted(known)}`)
})

/** What holds for a value, and what is said where it does not. */
export const holds =
  (condition: (value: Json | undefined) => boolean, message: string): Shape =>
  (value, path) => {
    if (!condition(value)) throw refusal(path, message)
  }

/** The same, said of the request and not of a path. */
export const rule =
  (condition: (value: Json | undefined) => boolean, message: string): Shape =>
  (value) => {
    if (!condition(value)) throw refusal("", message)
  }

export const oneOf = (values: ReadonlyArray<string>, said = quoted(values)): Shape =>
  holds((value) => values.some((one) => one === value), `Input should be ${said}`)

export const matching = (pattern: RegExp): Shape =>
  holds((value) => typeof value === "string" && pattern.test(value), `String should match pattern '${pattern.source}'`)

export const text: Shape = holds((value) => typeof value === "string", "Input should be a valid string")

export const dictionary: Shape = holds(isObject, "Input should be a valid dictionary")

/** A whole number that is not less. */
export const whole =
  (least: number): Shape =>
  (value, path) => {
    if (!Number.isInteger(value)) throw refusal(path, "Input should be a valid integer")
    if (Number(value) < least) throw refusal(path, `Input should be greater than or equal to ${least}`)
  }
