/** Judges replies by the OpenAPI document: status, headers, body, every event of a stream. */
import { OpenApi } from "effect/http-api"
import { Api } from "../../src/contract/Api.ts"
import { type JsonSchema, makeJudge } from "./jsonSchema.ts"

export interface Judged {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Of HTTP itself, or of every reply of any server. */
const transport = new Set([
  "cache-control",
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "transfer-encoding",
  "x-accel-buffering",
  "x-content-type-options"
])

interface Reply {
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
}
interface Operation {
  readonly operationId: string
  readonly responses: Readonly<Record<string, Reply>>
}
export interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly headers: Readonly<Record<string, { readonly schema: JsonSchema }>>
  }
}

export const contract = OpenApi.fromApi(Api) as unknown as Contract
const judge = makeJudge(contract)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const events = (text: string, schema: JsonSchema, end: string | undefined): ReadonlyArray<string> => {
  const problems: Array<string> = []
  for (const block of text.split("\n\n")) {
    const lines = block.split("\n").filter((line) => line !== "" && !line.startsWith(":"))
    if (lines.length === 0) continue
    const data = lines
      .filter((line) => line.startsWith("data: "))
      .map((line) => line.slice(6))
      .join("\n")
    if (data === "") problems.push(`an event without data: ${block.slice(0, 200)}`)
    else if (data !== end) {
      const problem = judge(parse(data), schema, "event")
      if (problem !== undefined) problems.push(`${problem} in ${data.slice(0, 300)}`)
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7)
      const { type } = Object(parse(data))
      if (name !== undefined && type !== name) problems.push(`the event ${name} has data of type ${type}`)
    }
  }
  return problems
}

const wanted: Readonly<Record<string, (text: string) => unknown>> = {
  integer: (text) => (/^\d+$/.test(text) ? Number(text) : text)
}

/** What a reply of a path has that the document does not tell of; nothing of paths that the document does not have. */
export const breaches = (path: string, { status, headers, text }: Judged): ReadonlyArray<string> => {
  const [operation] = Object.values(contract.paths[path] ?? {})
  if (operation === undefined) return []
  const reply = operation.responses[String(status)]
  if (reply === undefined) return [`the status ${status} is not declared`]
  const problems: Array<string> = []
  for (const [name, value] of headers) {
    if (transport.has(name)) continue
    const schema = reply.headers?.[name] === undefined ? undefined : contract.components.headers[name]?.schema
    if (schema === undefined) problems.push(`the header ${name} is not declared for ${status}`)
    else {
      const problem = judge((wanted[String(schema.type)] ?? String)(value), schema, name)
      if (problem !== undefined) problems.push(problem)
    }
  }
  if (text === "" && headers.get("content-length") !== "0") return problems // HEAD is answered without a body
  const type = headers.get("content-type")?.split(";")[0] ?? "none"
  const media = reply.content?.[type]
  if (media === undefined) return [...problems, `the content type ${type} is not declared for ${status}`]
  if (type === "text/event-stream") return [...problems, ...events(text, media.schema, "[DONE]")]
  const problem = judge(parse(text), media.schema, "body")
  return problem === undefined ? problems : [...problems, problem]
}
