/** The yardstick: the least a Node process can do between a caller and a cloud. It pipes bytes and parses nothing. */
import { Agent, createServer, request } from "node:http"
import type { AddressInfo } from "node:net"

const port = Number(process.argv[2])
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

const server = createServer((req, res) => {
  const upstream = request(
    { host: "127.0.0.1", port, agent, method: req.method, path: req.url, headers: req.headers },
    (reply) => {
      res.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(res)
    }
  )
  upstream.on("error", () => res.destroy())
  res.on("close", () => {
    if (!res.writableFinished) upstream.destroy()
  })
  req.pipe(upstream)
})

process.on("disconnect", () => process.exit(0))
server.keepAliveTimeout = 600_000
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }))
