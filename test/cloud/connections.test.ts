/** What waits in a connection for a slow reader stays little, however often a part of it is taken. */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { HttpClientRequest } from "effect/http"
import { makeClient } from "../../src/cloud/client.ts"
import { connections } from "../../src/cloud/connections.ts"
import { load, Settings } from "../../src/Settings.ts"

const settings = Layer.effect(
  Settings,
  Effect.map(load({}), ({ gateway }) => gateway)
)

it("a slow reader of an endless reply lets in little of it", async () => {
  const server = createServer((_, response) => {
    const send = () => {
      while (response.write("x".repeat(4_000)));
      response.once("drain", send)
    }
    send()
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const { port } = server.address() as AddressInfo
  let socket: Socket | undefined
  const connected = (message: unknown) => {
    socket = Reflect.get(Object(message), "socket")
  }
  subscribe("undici:client:connected", connected)
  try {
    await Effect.gen(function* () {
      const client = yield* makeClient
      const { stream } = yield* client.execute(HttpClientRequest.post(`http://127.0.0.1:${port}/`))
      const pull = yield* Stream.toPull(stream)
      for (let taken = 0; taken < 100; taken++) {
        yield* pull
        yield* Effect.promise(() => sleep(2))
        assert.isBelow(socket?.readableLength ?? Number.NaN, 512 * 1024, `after ${taken} pieces`)
      }
    }).pipe(Effect.scoped, Effect.provide(connections.pipe(Layer.provide(settings))), Effect.runPromise)
  } finally {
    unsubscribe("undici:client:connected", connected)
    server.close()
    server.closeAllConnections()
  }
})
