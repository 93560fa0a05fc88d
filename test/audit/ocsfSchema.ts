/** Whether events are what OCSF's field tables (ocsf-1.9.json) want; the first problem of each place, in words. */
import { isObject } from "../../src/wire/json.ts"
import tables from "./ocsf-1.9.json" with { type: "json" }

interface Table {
  readonly attributes: Readonly<Record<string, string>>
  readonly at_least_one?: ReadonlyArray<string>
}
const classes: Readonly<Record<string, Table & { readonly activities: Readonly<Record<string, string>> }>> =
  tables.classes
const objects: Readonly<Record<string, Table>> = tables.objects

const attribute = /^(\w+)(\[\])?(!)?(?: @(\w+))?( deprecated)?(?: ([\d|]+))?$/

const isText = (value: unknown): boolean => typeof value === "string" && value !== ""
const primitives: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: isText,
  json: () => true,
  boolean: (value) => typeof value === "boolean",
  integer: (value) => Number.isInteger(value),
  long: (value) => Number.isInteger(value),
  float: (value) => typeof value === "number"
}

function* problemsIn(
  value: Readonly<Record<string, unknown>>,
  { at_least_one = [], attributes }: Table,
  profiles: ReadonlyArray<string>,
  at: string
): Generator<string> {
  for (const [name, given] of Object.entries(value)) {
    const path = `${at}.${name}`
    const text = attributes[name]
    const [, type = "", array, , profile, deprecated, numbers] = attribute.exec(text ?? "") ?? []
    if (text === undefined) yield `${path} is no attribute`
    else if (profile !== undefined && !profiles.includes(profile)) yield `${path} needs the profile ${profile}`
    else if (deprecated !== undefined) yield `${path} is deprecated`
    else if ((array !== undefined) !== Array.isArray(given)) yield `${path} is ${array ? "no" : "an"} array`
    else {
      for (const item of [given].flat()) {
        const primitive = primitives[type]
        const table = objects[type]
        if (primitive !== undefined && !primitive(item)) yield `${path} is no ${type}`
        else if (numbers !== undefined && !numbers.split("|").includes(String(item))) yield `${path} may not be ${item}`
        else if (primitive === undefined && !isObject(item)) yield `${path} is no object`
        // Anything may be in what is not mapped.
        else if (isObject(item) && name !== "unmapped") {
          if (table === undefined) yield `${path} is a ${type}, which the tables do not have`
          else yield* problemsIn(item, table, profiles, path)
        }
      }
    }
  }
  for (const [name, text] of Object.entries(attributes)) {
    const [, , , required, profile] = attribute.exec(text) ?? []
    const applies = profile === undefined || profiles.includes(profile)
    if (required !== undefined && applies && !(name in value)) yield `${at}.${name} is missing`
  }
  if (at_least_one.length > 0 && !at_least_one.some((name) => name in value)) {
    yield `${at} has none of ${at_least_one.join(", ")}`
  }
}

/** Empty where the event is one. */
export const problemsOf = (event: unknown): ReadonlyArray<string> => {
  if (!isObject(event)) return ["no object"]
  const table = classes[String(event.class_uid)]
  if (table === undefined) return [`there is no class ${String(event.class_uid)}`]
  const { activity_id, activity_name, class_uid, metadata, type_uid } = event
  const profiles = isObject(metadata) && Array.isArray(metadata.profiles) ? metadata.profiles : []
  const found = [...problemsIn(event, table, profiles, "event")]
  if (Number(class_uid) * 100 + Number(activity_id) !== type_uid)
    found.push("type_uid is not class_uid * 100 + activity_id")
  const caption = table.activities[String(activity_id)]
  if (activity_id !== 99 && activity_name !== caption) found.push(`activity ${activity_id} is ${caption}`)
  return found
}
