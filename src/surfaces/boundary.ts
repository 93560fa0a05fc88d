/** What of a body would reach outside the boundary, and is refused before it leaves. */
import { mimes, readDataUri } from "../vendors/chatRequest.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"

const outside = "not available, because requests do not leave the boundary"
const stored = "not available, because nothing is stored"

const refusals = (why: string, names: string): ReadonlyArray<readonly [name: string, why: string]> =>
  names.split(" ").map((name) => [name, why])

/** By name, without separators and in small letters: some clouds read more than one spelling. */
const reasons: ReadonlyMap<string, string> = new Map([
  ...refusals(
    outside,
    "websearch websearchoptions searchparameters filesearch codeinterpreter computeruse toolresources"
  ),
  ...refusals(outside, "googlesearch googlesearchretrieval retrieval urlcontext codeexecution enhancements plugins"),
  ...refusals(outside, "datasource datasources mcpserver mcpservers connection connections connectionid"),
  ...refusals(outside, "agent agents agentreference assistant assistantid container containers"),
  ...refusals(outside, "extrabody extraheaders extraquery webhook webhooks webhookconfig callback callbacks"),
  ...refusals(stored, "background thread threadid cachedcontent"),
  ...refusals(`${stored}; send the full input each turn`, "previousresponseid conversation conversationid"),
  ["prompt", `${stored}; send the text itself`],
  ["store", "must be false or omitted; nothing is stored"],
  ["promptcacheretention", "must be in_memory or omitted; nothing is stored"],
  ["functions", "not accepted; use tools"],
  ["functioncall", "not accepted; use tool_choice"]
])

/** A switch that is off, and the cache in memory, which the vendor's documents and its libraries write in two ways. */
const asksNothing = (name: string, value: unknown): boolean =>
  name === "promptcacheretention"
    ? value === "in_memory" || value === "in-memory"
    : value === false && ["store", "background", "conversation"].includes(name)

/**
 * Why a body may not leave: a field by which a cloud would fetch, run, reach out or keep something is refused in every spelling, on every
 * surface, in the same words, because bodies are passed on with what the gateway does not know (docs/api.md#nothing-is-stored).
 * `readElsewhere` are fields of the surface's own that it refuses or removes itself.
 */
export const refuseCloudFields = (body: JsonObject, readElsewhere: ReadonlyArray<string> = []): string | undefined => {
  for (const field of Object.keys(body)) {
    const value = body[field]
    if (value === null || value === undefined) continue
    const name = field.toLowerCase().replace(/[_-]/g, "")
    const reason = reasons.get(name)
    if (reason === undefined || readElsewhere.includes(field) || asksNothing(name, value)) continue
    return `${field}: ${reason}`
  }
  return undefined
}

/** Types carry the date of their version. */
const callers = /^(?:custom$|(?:bash|text_editor|computer|memory|str_replace|tool_search_tool)_)/

const passes = (type: Json | undefined): boolean =>
  (type ?? undefined) === undefined || (typeof type === "string" && callers.test(type))

const isNothing = (value: Json | undefined): boolean =>
  (value ?? undefined) === undefined || (Array.isArray(value) && value.length === 0)

export const quoted = (value: Json | undefined) => JSON.stringify(value ?? null).slice(0, 80)

/** A refused tool as a message names it. */
export const toolAt = (path: string, { name, type }: JsonObject): string =>
  `${path} is ${quoted(type)}${textOf(name) === undefined ? "" : ` (${quoted(name)})`}`

/** Fields that are tools of this kind, too. */
export const serverFields: ReadonlyArray<string> = ["mcp_servers", "container"]

/**
 * Why a messages request may not be sent, naming every tool, so that the caller fixes it once. Tools of the caller's pass, and the search
 * among tools, which looks at nothing but the request; everything else runs inside the vendor's cloud and may reach outside the boundary
 * (docs/decisions.md#messages-surface).
 */
export const refuseServerTools = (body: JsonObject): string | undefined => {
  const refused = arrayOf(body.tools).flatMap((tool, at) =>
    isObject(tool) && !passes(tool.type) ? [toolAt(`tools.${at}`, tool)] : []
  )
  const fields = serverFields.filter((field) => !isNothing(body[field]))
  if (refused.length === 0 && fields.length === 0) return undefined
  const named = [...refused.slice(0, 10), ...fields.map((field) => `${field} is given`)].join(", ")
  const many = refused.length + fields.length > 1
  return `tools that run inside the cloud are not available, because they may reach outside the boundary: ${named}. Remove ${many ? "them" : "it"}, or define tools that you execute`
}

const { image: images, pdf: files } = mimes

const notBase64 = /[^A-Za-z0-9+/=]/
/** Line breaks are what some encoders write; the vendor judges them. */
const notBase64Lines = /[^A-Za-z0-9+/=\r\n]/

const dataUri = (what: string, types: ReadonlyArray<string>) => (value: Json) => {
  const { data, mime } = readDataUri(textOf(value) ?? "")
  return types.includes(mime) && !notBase64.test(data)
    ? undefined
    : `must be ${what} inline, as a data URI (data:<type>;base64,<bytes>, with type ${types.join(", ")}); URLs are not fetched`
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

/** What is wrong with a value: always the same, or what the function says. */
type Rule = string | ((value: Json, holder: JsonObject) => string | undefined)

/** What the places may hold, by the end of their name without separators and in small letters; the first that fits counts. */
const places: ReadonlyArray<readonly [name: RegExp, rule: Rule]> = [
  [/^(?:image|file|document|video|audio|media)?source$/, inlineSource],
  [/imageurl$/, dataUri("an image", images)],
  [/filedata$/, dataUri("a PDF", files)],
  [/fileurl$/, "not available, URLs are not fetched; send the data inline, as file_data"],
  // No profile is a file.
  [/(?<!pro)fileids?$/, `${stored}; send the data inline`],
  [/(?:vectorstore|container|connection)ids?$/, stored],
  [
    /(?:ur[il]s?|s3location)$/,
    "not passed on, because a cloud may fetch what it names; leave it out, or send the data inline"
  ],
  [/^inputaudio$/, "audio is not accepted"],
  // Where tools belong they are read before, and are not walked.
  [/^tools$/, "tools are not read here; define them in the tools of the request"]
]
/** Longest end of a name that decides. */
const maxName = 32

/** What all of these names end in: most names are none of them, and bodies have many. */
const suspect = /(?:source|ur[il]s?|data|ids?|location|audio|tools)[_-]*$/i

const refuseField = (key: string, value: Json, holder: JsonObject): string | undefined => {
  if (value === false || !suspect.test(key.length > maxName ? key.slice(-maxName) : key)) return undefined
  const name = key.slice(-maxName).toLowerCase().replace(/[_-]/g, "")
  const rule = places.find(([pattern]) => pattern.test(name))?.[1]
  return typeof rule === "function" ? rule(value, holder) : rule
}

/** Fields of a native body that are the caller's own data, or read elsewhere. */
export const ownFields: ReadonlySet<string> = new Set(["tools", "tool_choice", "metadata", "client_metadata"])

/** Data by the type of what holds it: a call's input, a schema, and what the model cited. */
const dataOf: ReadonlyMap<unknown, string> = new Map([
  ["tool_use", "input"],
  ["server_tool_use", "input"],
  ["function_call", "arguments"],
  ["custom_tool_call", "input"],
  ["tool_search_call", "arguments"],
  ["local_shell_call", "action"],
  ["shell_call", "action"],
  ["apply_patch_call", "operation"],
  ["json_schema", "schema"],
  ["output_text", "annotations"],
  ["text", "citations"]
])

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
 * Why a body may not leave, with the place of what is wrong; undefined where everything is inline. A place that may hold a file or an
 * image holds it inline, as base64 of a type that is taken, or nothing (docs/api.md#inline-data-only). Whatever is not known to be inline is
 * refused, so that no cloud is asked to fetch anything. Text is not looked into, and neither is what a caller's own tools say: the input
 * of a call, the schema of a tool.
 *
 * Iterative and linear; bodies that are nested too deep or hold too much are refused before (`wire/parse.ts`).
 *
 * Keys are listed before they are read: over objects of many shapes V8 throws the compiled code of a `for (key in object)` away
 * again and again, and the walk would stay interpreted.
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
    if (fields.type === "item_reference") {
      return `${pathOf(parent, node.key)}: items cannot be referred to, because nothing is stored; send the item itself`
    }
    const data = parent === undefined ? undefined : dataOf.get(fields.type)
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
