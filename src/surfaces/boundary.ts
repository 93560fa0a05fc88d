/** Refuses bodies by which a cloud would reach outside the boundary, or keep something. */
import { mimes, readDataUri } from "../vendors/media.ts"
import { type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { meaningsOf } from "../wire/words.ts"

const outside = "not available, because requests do not leave the boundary"
const stored = "not available, because nothing is stored"

/** Why fields are refused, by name without separators and in lower case: some clouds read more than one spelling. */
const reasons = meaningsOf(
  ["websearch websearchoptions searchparameters filesearch codeinterpreter computeruse toolresources", outside],
  ["googlesearch googlesearchretrieval retrieval urlcontext codeexecution enhancements plugins", outside],
  ["datasource datasources mcpserver mcpservers connection connections connectionid", outside],
  ["agent agents agentreference assistant assistantid container containers", outside],
  ["extrabody extraheaders extraquery webhook webhooks webhookconfig callback callbacks", outside],
  ["background thread threadid cachedcontent", stored],
  ["previousresponseid conversation conversationid", `${stored}; send the full input each turn`],
  ["prompt", `${stored}; send the text itself`],
  ["store", "must be false or omitted; nothing is stored"],
  ["promptcacheretention", "must be in_memory or omitted; nothing is stored"],
  ["functions", "not accepted; use tools"],
  ["functioncall", "not accepted; use tool_choice"]
)

/** A switch that is off, or the cache in memory, which the vendor's documents and libraries spell differently. */
const isOff = (name: string, value: unknown): boolean =>
  name === "promptcacheretention"
    ? value === "in_memory" || value === "in-memory"
    : value === false && ["store", "background", "conversation"].includes(name)

/**
 * Why a body may not leave: a field by which a cloud would fetch, run, reach out or keep something is refused in every spelling and on every
 * surface, because bodies are passed on with fields that the gateway does not know (docs/api.md#nothing-is-stored).
 * `readElsewhere` are fields of the surface's own that it refuses or removes itself.
 */
export const refuseCloudFields = (body: JsonObject, readElsewhere: ReadonlyArray<string> = []): string | undefined => {
  for (const field of Object.keys(body)) {
    const value = body[field]
    if (value === null || value === undefined) continue
    const name = field.toLowerCase().replace(/[_-]/g, "")
    const reason = reasons.get(name)
    if (reason === undefined || readElsewhere.includes(field) || isOff(name, value)) continue
    return `${field}: ${reason}`
  }
  return undefined
}

export const isNothing = (value: Json | undefined): boolean =>
  (value ?? undefined) === undefined || (Array.isArray(value) && value.length === 0)

export const quoted = (value: Json | undefined) =>
  JSON.stringify(typeof value === "string" ? value.slice(0, 80) : (value ?? null)).slice(0, 80)

/** A refused tool as a message names it. */
export const toolAt = (path: string, { name, type }: JsonObject): string =>
  `${path} is ${quoted(type)}${textOf(name) === undefined ? "" : ` (${quoted(name)})`}`

const { image: images, pdf: files } = mimes

const notBase64 = /[^A-Za-z0-9+/=]/
/** Some encoders write line breaks, which are left to the vendor. */
const notBase64Lines = /[^A-Za-z0-9+/=\r\n]/

const dataUri = (what: string, types: ReadonlyArray<string>) => (value: Json) => {
  const { data, mime } = readDataUri(textOf(value) ?? "")
  return types.includes(mime) && !notBase64.test(data)
    ? undefined
    : `must be a string with ${what} inline, as a data URI (data:<type>;base64,<bytes>, with type ${types.join(", ")}); URLs are not fetched`
}

/** What a source may be, by its `type`. The blocks of a `content` source are walked like others. */
const sources: Readonly<Record<string, (source: JsonObject) => boolean>> = {
  base64: ({ media_type, data }) =>
    typeof media_type === "string" &&
    [...images, ...files].includes(media_type) &&
    typeof data === "string" &&
    !notBase64Lines.test(data),
  text: ({ media_type, data }) =>
    typeof data === "string" && (media_type === undefined || media_type === null || media_type === "text/plain"),
  content: ({ content }) => typeof content === "string" || Array.isArray(content)
}

const inlineSource = (value: Json, holder: JsonObject): string | undefined => {
  // Where a search result comes from is a text that the model may cite.
  if (holder.type === "search_result" && typeof value === "string") return undefined
  const source = objectOf(value)
  const type = textOf(source.type) ?? ""
  return Object.hasOwn(sources, type) && sources[type]?.(source) === true
    ? undefined
    : `must hold the data inline, as {"type":"base64","media_type":…,"data":…} with media_type ${[...images, ...files].join(", ")}; URL sources and stored files are not accepted`
}

/** Why a field's value is refused: always the same text, or what the function answers; undefined where it is not. */
type Rule = string | ((value: Json, holder: JsonObject) => string | undefined)

/** Rules for fields by the end of their name, without separators and in lower case; the first that matches counts. */
const fieldRules: ReadonlyArray<readonly [name: RegExp, rule: Rule]> = [
  [/^(?:image|file|document|video|audio|media)?source$/, inlineSource],
  [/imageurl$/, dataUri("an image", images)],
  [/filedata$/, dataUri("a PDF", files)],
  [/fileurl$/, "not available, URLs are not fetched; send the data inline, as file_data"],
  // `profile_id` is no file.
  [/(?<!pro)fileids?$/, `${stored}; send the data inline`],
  [/(?:vectorstore|container|connection)ids?$/, stored],
  [
    /(?:ur[il]s?|s3location)$/,
    "not passed on, because a cloud may fetch what it names; leave it out, or send the data inline"
  ],
  [/^inputaudio$/, "audio is not accepted"],
  // The tools of the request itself are checked before, and are not walked (`ownFields`).
  [/^tools$/, "tools are not read here; define them in the tools of the request"]
]
/** How much of a name is read, from its end, in characters. */
const maxName = 32

/** The ends of all of these names, as a fast check: bodies have many names, and most are none of them. */
const suspect = /(?:source|ur[il]s?|data|ids?|location|audio|tools)[_-]*$/i

const refuseField = (key: string, value: Json, holder: JsonObject): string | undefined => {
  if (value === false || !suspect.test(key.length > maxName ? key.slice(-maxName) : key)) return undefined
  const name = key.slice(-maxName).toLowerCase().replace(/[_-]/g, "")
  const rule = fieldRules.find(([pattern]) => pattern.test(name))?.[1]
  return typeof rule === "function" ? rule(value, holder) : rule
}

/** Fields of a native body that are the caller's own data, or read elsewhere. */
export const ownFields: ReadonlySet<string> = new Set(["tools", "tool_choice", "metadata", "client_metadata"])

/** The field with data by the `type` of its object: a call's input, a schema, citations, what the caller's browser shows (docs/upstreams.md#toolsets). */
const dataOf = meaningsOf(
  ["tool_use server_tool_use custom_tool_call", "input"],
  ["function_call tool_search_call", "arguments"],
  ["local_shell_call shell_call", "action"],
  ["apply_patch_call", "operation"],
  ["json_schema", "schema"],
  ["output_text", "annotations"],
  ["text", "citations"],
  ["browser_state", "tabs"],
  ["download_started download_completed download_failed", "url"]
)

/** An object or a list, and what holds it by this key. */
interface Node {
  readonly value: object
  readonly key: string
  readonly parent: Node | undefined
}

const maxPath = 300

const pathOf = (holder: Node | undefined, key: string): string => {
  let path = ""
  let name = key
  for (let at = holder; at !== undefined; at = at.parent) {
    path = (Array.isArray(at.value) ? `[${name}]` : `.${name.slice(0, 100)}`) + path
    name = at.key
  }
  path = path.replace(/^\./, "")
  return path.length > maxPath ? `${path.slice(0, maxPath)}…` : path
}

/**
 * Why a body may not leave, with the place of what is wrong; undefined where everything is inline. Files and images must be
 * inline, as base64 of an accepted type (docs/api.md#inline-data-only). Whatever is not known to be inline is
 * refused, so that no cloud is asked to fetch anything. Texts, inputs of calls and schemas of
 * tools are not searched.
 *
 * Iterative and linear; bodies that are nested too deep or hold too much are refused before (`wire/parse.ts`).
 */
export const refuseOutside = (body: JsonObject, own = ownFields): string | undefined => {
  const queue: Array<Node> = [{ value: body, key: "", parent: undefined }]
  for (const node of queue) {
    const { value: holder, parent } = node
    if (Array.isArray(holder)) {
      for (let index = 0; index < holder.length; index++) {
        const value: Json = holder[index]
        if (typeof value === "object" && value !== null) queue.push({ value, key: String(index), parent: node })
      }
      continue
    }
    const fields = holder as JsonObject
    if (parent !== undefined && fields.type === "item_reference") {
      return `${pathOf(parent, node.key)}: items cannot be referred to, because nothing is stored; send the item itself`
    }
    const data = parent === undefined ? undefined : dataOf.get(textOf(fields.type) ?? "")
    for (const key of Object.keys(fields)) {
      const value = fields[key]
      if (value === null || value === undefined) continue
      if (key === data || (parent === undefined && own.has(key))) continue
      const refusal = refuseField(key, value, fields)
      if (refusal !== undefined) return `${pathOf(node, key)}: ${refusal}`
      if (typeof value === "object") queue.push({ value, key, parent: node })
    }
  }
  return undefined
}
