/** A server that answers each request with the next of its answers, and counts what it is asked. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

export type Answer = (response: ServerResponse, request: IncomingMessage) => void

export interface FakeGateway {
  readonly url: string
  readonly requests: ReadonlyArray<{ readonly path: string; readonly body: string; readonly key: string | undefined }>
  /** Connections that the caller has closed before the answer was complete. */
  readonly abandoned: () => number
  readonly stop: () => Promise<void>
}

export const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json", "x-request-id": "req-1", ...headers })
    response.end(JSON.stringify(body))
  }

/** The events, then the end of the body; `hang` leaves it open, `cut` breaks the connection. */
export const events =
  (text: string, then: "end" | "hang" | "cut" = "end"): Answer =>
  (response) => {
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "x-request-id": "req-2",
      "x-gateway-served-by": "vertex/us-east5",
      "x-gateway-served-level": "il2"
    })
    response.write(text)
    if (then === "end") response.end()
    if (then === "cut") setTimeout(() => response.destroy(), 20)
  }

/** Breaks the connection without a word. */
export const hangUp: Answer = (response) => response.destroy()
/** Never answers. */
export const silence: Answer = () => {}

/** The last answer is repeated. */
export const fakeGateway = async (...answers: ReadonlyArray<Answer>): Promise<FakeGateway> => {
  const requests: Array<{ path: string; body: string; key: string | undefined }> = []
  let abandoned = 0
  const server: Server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (text) => {
      body += text
    })
    response.on("close", () => {
      if (!response.writableEnded) abandoned++
    })
    request.on("end", () => {
      const key = request.headers["x-api-key"]
      requests.push({ path: request.url ?? "", body, key: typeof key === "string" ? key : undefined })
      answers[Math.min(requests.length, answers.length) - 1]?.(response, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    requests,
    abandoned: () => abandoned,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
