/** What is kept for a connection. */
import { Agent, createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { guardSockets } from "../../src/sockets.ts"
import { collect } from "../support/heap.ts"

it("an idle connection holds nothing of its last request", async () => {
  const kept: Array<WeakRef<object>> = []
  const server = createServer((incoming, reply) => {
    const record = {}
    kept.push(new WeakRef(record))
    incoming.on("data", () => record).on("end", () => reply.end("{}"))
  })
  const connections = guardSockets(server, "connection")
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  await new Promise<void>((resolve) =>
    request({ agent, method: "POST", port, host: "127.0.0.1" }, (reply) => reply.resume().on("end", resolve)).end("x")
  )
  for (let round = 0; round < 20 && kept[0]?.deref() !== undefined; round++) {
    await sleep(10)
    collect()
  }
  assert.strictEqual(connections.size, 1)
  assert.isUndefined(kept[0]?.deref())
  agent.destroy()
  server.close()
})
