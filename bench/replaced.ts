/**
 * `npm run bench -- --replaced`: what library code costs where the gateway has its own, in microseconds of processor time. A cloud
 * is a process of its own here; 32 calls are on their way at a time.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Agent } from "@effect/platform-node/Undici"
import { Effect, Layer, ManagedRuntime, References, Scope } from "effect"
import { HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import { CircuitBreaker } from "effect/persistence"
import { makeBreaker } from "../src/provider/breaker.ts"
import { dispatchWhole } from "../src/provider/dispatch.ts"
import { Stopper } from "../src/provider/Stopper.ts"
import { claudeOnVertex } from "./calls.ts"
import { ask, start } from "./processes.ts"
import { byOperators, byRelay, eventsOfReply } from "./relayed.ts"
import { scenarios } from "./scenarios.ts"

const { child, hello } = await start<{ readonly port: number }>("upstream.ts")
await ask(child, scenarios.find(({ name }) => name === "messages-whole")?.pace)
const origin = `http://127.0.0.1:${hello.port}`
const { body, path } = claudeOnVertex(false)
const headers = { "content-type": "application/json", authorization: "Bearer x" }
const options = { origin, path, method: "POST" as const, headers, body, headersTimeout: 0, bodyTimeout: 0 }
const agent = new Agent({ connections: null, pipelining: 1, allowH2: false })

/** The least that undici can do: a whole reply for a promise. */
const bare = () =>
  new Promise<Buffer>((resolve, reject) => {
    const chunks: Array<Uint8Array> = []
    agent.dispatch(options, {
      onRequestStart() {},
      onResponseStart() {},
      onResponseData: (_, chunk) => void chunks.push(chunk),
      onResponseEnd: () => resolve(Buffer.concat(chunks)),
      onResponseError: (_, error) => reject(error)
    })
  })

const runtime = ManagedRuntime.make(
  Layer.mergeAll(
    NodeHttpClient.layerUndici,
    CircuitBreaker.layerStoreMemory(),
    Layer.succeed(References.TracerEnabled, false)
  )
)
const scope = Scope.makeUnsafe()
const guarded = await runtime.runPromise(Scope.provide(makeBreaker, scope))
const library = await runtime.runPromise(
  Scope.provide(CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(10), openDuration: "5 seconds" }), scope)
)
const client = await runtime.runPromise(HttpClient.HttpClient)
const reply = Effect.succeed({ status: 200, headers: {} })

const rows: ReadonlyArray<readonly [name: string, run: () => Promise<unknown>, per?: number]> = [
  ["a call: undici alone", bare],
  [
    "a call: `provider/dispatch.ts`",
    () => runtime.runPromise(dispatchWhole(agent, options, new Stopper(), () => 1e8, { take: () => true, received: 0 }))
  ],
  [
    "a call: Effect's client over undici",
    () =>
      runtime.runPromise(
        Effect.flatMap(
          client.execute(
            HttpClientRequest.post(origin + path, { headers, body: HttpBody.text(body, "application/json") })
          ),
          ({ text }) => text
        )
      )
  ],
  ["no breaker", () => runtime.runPromise(reply)],
  ["a breaker: `provider/breaker.ts`", () => runtime.runPromise(guarded("vertex/x", reply))],
  ["a breaker: the library's `execute`", () => runtime.runPromise(library.execute(reply, { key: "vertex/y" }))],
  ["an event: `stream/relay.ts`", byRelay, eventsOfReply],
  ["an event: operators of Effect", byOperators, eventsOfReply]
]

const cost = async (run: () => Promise<unknown>, times: number, per = 1): Promise<number> => {
  const runs = Math.ceil(times / per)
  let left = runs
  const caller = async () => {
    while (left-- > 0) await run()
  }
  const before = process.cpuUsage()
  await Promise.all(Array.from({ length: 32 }, caller))
  const { system, user } = process.cpuUsage(before)
  return (user + system) / runs / per
}

const rounds = 12
const found = new Map(rows.map(([name]) => [name, [] as Array<number>]))
for (const [, run, per] of rows) await cost(run, 20_000, per)
for (let round = 0; round < rounds; round++)
  for (const [name, run, per] of rows) found.get(name)?.push(await cost(run, 6_400, per))

process.stdout.write("| What | µs, least of 12 rounds | median |\n| --- | ---: | ---: |\n")
for (const [name, costs] of found) {
  const sorted = costs.toSorted((a, b) => a - b)
  process.stdout.write(`| ${name} | ${sorted[0]?.toFixed(1)} | ${sorted[rounds / 2]?.toFixed(1)} |\n`)
}
process.exit(0)
