/** A token service on loopback, and an environment that libraries read. */
import { createServer, type IncomingHttpHeaders } from "node:http"
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net"
import { Effect } from "effect"
import type { AuthHeaders, Credential } from "../../../src/cloud/credentials.ts"

export interface TokenRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface TokenReply {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly json: unknown
}

/** A request without headers of its own. */
export const plain = { url: new URL("https://cloud.example"), region: "", headers: {}, body: new Uint8Array() }

/** Replaces a credential that was refused. */
export const renew = ({ refresh }: Pick<Credential, "refresh">, refused: AuthHeaders) =>
  refresh === undefined ? Effect.die("it is fixed") : refresh(refused)

/** Answers each request with `reply(request, n)`, n counting from 1; records what was asked. Closed with the scope. */
export const tokenServer = (reply: (request: TokenRequest, n: number) => TokenReply) =>
  Effect.acquireRelease(
    Effect.callback<{ url: string; requests: Array<TokenRequest>; close: () => void }>((resume) => {
      const requests: Array<TokenRequest> = []
      const server = createServer((request, response) => {
        const parts: Array<Buffer> = []
        request.on("data", (part: Buffer) => parts.push(part))
        request.on("end", () => {
          const { method = "", url = "", headers } = request
          requests.push({ method, url, headers, body: Buffer.concat(parts).toString("utf8") })
          const last = requests.at(-1)
          if (last === undefined) return
          const { status = 200, json, headers: extra = {} } = reply(last, requests.length)
          response.writeHead(status, { "content-type": "application/json", ...extra })
          response.end(JSON.stringify(json))
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const close = () => {
          server.close()
          server.closeAllConnections()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, requests, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

/** Takes connections, and never answers. Closed with the scope. */
export const silentServer = Effect.acquireRelease(
  Effect.callback<{ url: string; close: () => void }>((resume) => {
    const sockets = new Set<Socket>()
    const server = createTcpServer((socket) => sockets.add(socket.on("error", () => {})))
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      const close = () => {
        server.close()
        for (const socket of sockets) socket.destroy()
      }
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

/** Sets environment variables (and removes those that are undefined) until the scope closes. */
export const environment = (values: Record<string, string | undefined>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = Object.fromEntries(Object.keys(values).map((name) => [name, process.env[name]]))
      assign(values)
      return before
    }),
    (before) => Effect.sync(() => assign(before))
  )

const assign = (values: Record<string, string | undefined>) => {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}

/** Runs an effect n times at once. */
export const together = <A, E, R>(effect: Effect.Effect<A, E, R>, n: number) =>
  Effect.all(
    Array.from({ length: n }, () => effect),
    { concurrency: "unbounded" }
  )
