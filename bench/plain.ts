/**
 * A yardstick: what the gateway does with a request, and with the events of a streamed reply, as plain functions between the waits
 * of a bare Node server. It has no deadlines, breaker, limits, spans or layers. From the bare proxy to here is the price of the work,
 * from here to the gateway that of how it is joined.
 */
import { appendFile, mkdtempSync, rmSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Agent } from "@effect/platform-node/Undici"
import { Result } from "effect"
import { digestOf } from "../src/access/KeyFile.ts"
import { recordLine, usageRecordOf } from "../src/access/UsageRecord.ts"
import { endpoints, purposePaths } from "../src/api/Api.ts"
import { compiled } from "../src/api/compiled.ts"
import type { ApiError, MessagesError } from "../src/api/Errors.ts"
import { makeAccumulator } from "../src/governance/accumulate.ts"
import { governanceOfCalls } from "../src/governance/flags.ts"
import { screen } from "../src/governance/screen.ts"
import { clouds } from "../src/model/Catalog.ts"
import { shippedCatalog } from "../src/model/CatalogStore.ts"
import { bestSites } from "../src/model/Partition.ts"
import { makeIndex } from "../src/model/Resolver.ts"
import type { Operation, Route } from "../src/model/Route.ts"
import { eventStream, type Known } from "../src/provider/framing/eventStream.ts"
import type { Frame, Progress, Protocol } from "../src/stream/Frame.ts"
import { collect, governed } from "../src/stream/governed.ts"
import { chat } from "../src/surface/chat.ts"
import { messages } from "../src/surface/messages.ts"
import { Observation } from "../src/surface/Observation.ts"
import { servedHeaders } from "../src/surface/proof.ts"
import { responses } from "../src/surface/responses.ts"
import type { NamesModel, Prepared, Surface } from "../src/surface/Surface.ts"
import { makeRecordRequest } from "../src/telemetry/metrics.ts"
import { readExactObject } from "../src/wire/json.ts"
import { measure } from "../src/wire/measure.ts"
import { atOnce } from "../src/wire/slices.ts"
import { printEvents } from "../src/wire/sse.ts"
import { sse } from "../src/wire/sseDecoder.ts"
import * as asked from "./calls.ts"

const origin = `http://127.0.0.1:${process.argv[2]}`
const agent = new Agent({ connections: null, pipelining: 1 })
const index = makeIndex(Result.getOrThrow(shippedCatalog), bestSites(clouds), purposePaths)
const recordRequest = makeRecordRequest("team")

/** How a cloud prints its frames is shared by all of its streams, as in the gateway. */
const known: Known = { plain: undefined }

const pathOf = ({ deployment: { cloud } }: Route, operation: Operation, stream: boolean): string => {
  if (operation === "content") return asked.geminiOnVertex(stream).path
  if (operation === "messages") return (cloud === "vertex" ? asked.claudeOnVertex : asked.claudeOnBedrock)(stream).path
  return (operation === "responses" ? asked.responsesCloud : asked.chatCloud)("", stream).path
}

const directory = mkdtempSync(join(tmpdir(), "gateway-bench-plain-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true }))

/** Lines of a few milliseconds are written at once, as the gateway writes them. */
let lines: Array<string> = []
const note = (line: string) => {
  if (lines.push(line) === 1) {
    setTimeout(() => {
      appendFile(join(directory, "records"), lines.join(""), () => {})
      lines = []
    }, 5)
  }
}

type Handler = (bytes: Buffer, request: IncomingMessage, response: ServerResponse) => void

const serve = <R extends NamesModel, P extends Prepared, S extends Progress, E extends ApiError | MessagesError>(
  surface: Surface<R, P, S, E>
): Handler => {
  const decode = compiled(surface.schema)
  return (bytes, { headers, method = "", url: path = "" }, response) => {
    const facts = new Observation({
      id: crypto.randomUUID(),
      startedAt: Date.now(),
      method,
      path,
      source: "::1",
      surface: endpoints.get(path)?.surface
    })
    digestOf(String(headers["x-api-key"]))
    facts.bytesIn = bytes.length
    const { over } = measure(bytes)
    if (over) throw new Error("the body is over its budget")
    const value: R = JSON.parse(bytes.toString("utf8"))
    Result.getOrThrow(decode(value))
    const route = Result.getOrThrow(index.resolve(value.model, surface.purpose))
    atOnce(screen(surface.tools?.(value) ?? [], "spec"))
    const arrival = { id: facts.id, startedAt: facts.startedAt, headers: { ...headers } as Record<string, string> }
    const prepared = Result.getOrThrow(surface.prepare(value, route, arrival))
    facts.route = route
    facts.cloud = route.deployment.cloud
    facts.region = "us-east5"
    const body = JSON.stringify(prepared.bodies[0])
    const chunks: Array<Buffer> = []
    /** What becomes of a chunk of a streamed reply. */
    const relay = ({ initial, onHalt, step }: Protocol<S>) => {
      const state = initial()
      const decoder = prepared.operation === "messages" && facts.cloud === "bedrock" ? eventStream(known) : sse()
      const calls = makeAccumulator("spec")
      const say = (frames: ReadonlyArray<Frame>) => {
        collect(calls, frames)
        const text = printEvents(governed(calls, frames))
        if (text !== "") response.write(text)
      }
      return {
        chunk: (chunk: Buffer) => say(step(state, decoder.feed(chunk).events)[1]),
        end: () => {
          if (state.end === undefined) say(onHalt(state))
          response.end()
        }
      }
    }
    const streamed = prepared.stream && surface.protocol !== undefined ? relay(surface.protocol(prepared)) : undefined
    const answered = () => {
      const raw = Buffer.concat(chunks).toString("utf8")
      const said = Result.getOrThrow(surface.answer(prepared, { raw, body: readExactObject(raw) ?? {} }))
      const text = JSON.stringify(said.body(atOnce(governanceOfCalls(said.calls, "spec"))))
      facts.tokens = said.tokens
      facts.status = 200
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
        ...servedHeaders(facts),
        "x-request-id": facts.id,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff"
      })
      response.end(text)
      const now = Date.now()
      recordRequest(facts, "ok", now, facts.tokens)
      const record = usageRecordOf(facts, false, now)
      note(
        `${record === undefined ? "" : `${recordLine(record)}\n`}${JSON.stringify({ message: path, id: facts.id })}\n`
      )
    }
    agent.dispatch(
      {
        origin,
        path: pathOf(route, prepared.operation, prepared.stream),
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json", authorization: "Bearer x" },
        body
      },
      {
        onRequestStart() {},
        onResponseStart: () => {
          if (streamed !== undefined) response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
        },
        onResponseData: (_, chunk) => (streamed === undefined ? void chunks.push(chunk) : streamed.chunk(chunk)),
        onResponseEnd: streamed?.end ?? answered,
        onResponseError: () => response.destroy()
      }
    )
  }
}

const handlers: Readonly<Record<string, Handler>> = {
  "/v1/messages": serve(messages),
  "/v1/chat/completions": serve(chat),
  "/v1/responses": serve(responses)
}

const server = createServer((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => handlers[request.url ?? ""]?.(Buffer.concat(chunks), request, response))
})
process.on("disconnect", () => process.exit(0))
process.on("SIGTERM", () => process.exit(0))
server.keepAliveTimeout = 600_000
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }))
