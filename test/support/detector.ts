/**
 * A detector that speaks LiteLLM's generic guardrail API over a real socket, as its documentation has it, and refuses what is not of
 * the contract. It finds the words that it is told to.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type RequestListener, type ServerResponse } from "node:http"
import { createServer as createTlsServer, type ServerOptions } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { TLSSocket } from "node:tls"

/** A request of the contract. */
export interface Asked {
  readonly texts: ReadonlyArray<string>
  readonly images?: ReadonlyArray<string>
  readonly tools?: ReadonlyArray<unknown>
  readonly tool_calls?: ReadonlyArray<{ readonly function: { readonly name: string; readonly arguments: string } }>
  readonly request_data: Readonly<Record<string, string>>
  readonly input_type: "request" | "response"
  readonly litellm_call_id: string
  readonly additional_provider_specific_params: {
    readonly gateway: {
      readonly surface: string
      readonly level: string
      readonly places: ReadonlyArray<string>
      readonly images: number
      readonly files: number
    }
  }
}

export type Rule = (asked: Asked, response: ServerResponse) => unknown

export interface Detector {
  readonly url: string
  /** Every request so far. */
  readonly asked: ReadonlyArray<Asked>
  /** The subject of the certificate of each of them; none without TLS. */
  readonly peers: ReadonlyArray<string>
  /** How many connections were opened. */
  readonly connections: () => number
  /** Requests that were broken off before their answer. */
  readonly left: () => number
  /** Replaces what it answers; a rule that answers nothing has written to the response. */
  readonly use: (rule: Rule) => void
  readonly stop: () => Promise<void>
}

/** A number of the form of a social security number, in any text. */
const ssn = /\b\d{3}-\d{2}-\d{4}\b/

/** Blocks what says BLOCKME, and redacts such numbers. */
export const usual: Rule = ({ texts }) => {
  if (texts.some((text) => text.includes("BLOCKME"))) return { action: "BLOCKED", blocked_reason: "forbidden-word" }
  if (!texts.some((text) => ssn.test(text))) return { action: "NONE" }
  const redacted = texts.map((text) => text.replace(new RegExp(ssn, "g"), "[ssn]"))
  return { action: "GUARDRAIL_INTERVENED", blocked_reason: "ssn", texts: redacted }
}

const isAsked = (value: unknown): value is Asked => {
  const { additional_provider_specific_params: params, input_type, request_data, texts } = Object(value)
  return (
    Array.isArray(texts) &&
    texts.length > 0 &&
    texts.every((text) => typeof text === "string" && text !== "") &&
    (input_type === "request" || input_type === "response") &&
    typeof request_data === "object" &&
    params?.gateway.places.length === texts.length
  )
}

export const startDetector = async (tls?: ServerOptions): Promise<Detector> => {
  let rule: Rule = usual
  const asked: Array<Asked> = []
  const peers: Array<string> = []
  let left = 0
  let connections = 0
  const answer: RequestListener = async (request, response) => {
    response.on("close", () => {
      if (!response.writableFinished) left++
    })
    const body: unknown = JSON.parse((await buffer(request)).toString())
    const wrong = request.url !== "/beta/litellm_basic_guardrail_api" || request.method !== "POST" || !isAsked(body)
    if (wrong) return void response.writeHead(422).end()
    asked.push(body)
    if (request.socket instanceof TLSSocket) peers.push(request.socket.getPeerX509Certificate()?.subject ?? "")
    const said = await rule(body, response)
    if (said !== undefined) response.setHeader("content-type", "application/json").end(JSON.stringify(said))
  }
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer)
  server.on("connection", () => connections++)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    url: `http${tls === undefined ? "" : "s"}://127.0.0.1:${typeof address === "object" ? address?.port : address}`,
    asked,
    peers,
    connections: () => connections,
    left: () => left,
    use: (next) => {
      rule = next
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** A file with these guards; `remove` it when done. */
export const guardsFile = (guards: ReadonlyArray<object>) => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-guards-"))
  const path = join(folder, "guards.json")
  const write = (text: string) => writeFileSync(path, text, { mode: 0o600 })
  write(JSON.stringify({ version: 1, guards }))
  return { path, write, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
