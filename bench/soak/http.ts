/** A caller of one gateway. */
import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

export interface Reply {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Reads a reply to its end, pausing so many milliseconds after each piece. */
export const textOf = async (response: IncomingMessage, pause = 0): Promise<string> => {
  let text = ""
  for await (const piece of response.setEncoding("utf8")) {
    text += piece
    if (pause > 0) await sleep(pause)
  }
  return text
}

export const openAgent = (port: number, key: string, maxSockets = Number.POSITIVE_INFINITY) => {
  const agent = new Agent({ keepAlive: true, maxSockets })
  const open = (method: string, path: string, body?: string | Buffer, ownKey = key, timeout = 30_000) => {
    const headers = { "x-api-key": ownKey, "content-type": "application/json" }
    const request = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent, timeout })
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      request.once("response", resolve).on("error", reject)
      request.once("timeout", () => request.destroy(new Error(`no byte for ${timeout} ms`)))
    })
    request.end(body)
    return { request, response }
  }
  const whole = async (response: Promise<IncomingMessage>): Promise<Reply> => {
    const { headers, statusCode: status } = await response
    return { headers, status, text: await textOf(await response) }
  }
  return {
    /** For callers that read the reply themselves, or leave. */
    open: (path: string, body: string, ownKey?: string) => open("POST", path, body, ownKey),
    get: (path: string, timeout?: number) => whole(open("GET", path, undefined, key, timeout).response),
    post: (path: string, body: string | Buffer) => whole(open("POST", path, body).response),
    close: () => agent.destroy()
  }
}
