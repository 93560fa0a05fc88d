/** L7: two replicas are restarted in turn, under load. */

import { setTimeout as sleep } from "node:timers/promises"
import { createKey, startGateway } from "../peers/gateway.ts"
import { end, freePort } from "../processes.ts"
import { messagesBody, nothing, type Scenario, startCloud, startLoad } from "./programme.ts"

const count = 10_000
/** Milliseconds between two looks of the balancer at `/health`, and in which it has seen what there is also on a busy machine. */
const probe = 250
const seen = 8 * probe

export const rolling: Scenario = {
  name: "L7",
  title: "two replicas restarted in turn, under load",
  full: 160,
  short: 80,
  run: async ({ directory, seconds }) => {
    const cloud = await startCloud({ events: 10, every: 50, delay: 50 })
    const load = await startLoad()
    const key = createKey(directory)
    const names = ["replica-a", "replica-b"]
    const ports = [await freePort(), await freePort()]
    const begin = (n: number) =>
      startGateway(names[n] ?? "", directory, cloud.port, {
        GATEWAY_PORT: String(ports[n]),
        GATEWAY_DRAIN_DELAY: `${seen} millis`
      })
    const replicas = [await begin(0), await begin(1)]
    let over = false
    let restarts = 0
    let unclean = 0
    const roll = async () => {
      while (!over) {
        for (const n of [0, 1]) {
          const child = replicas[n]?.child
          if (child === undefined) continue
          await end(child)
          if (child.exitCode !== 0) unclean++
          replicas[n] = await begin(n)
          restarts++
          // The other one stays until the balancer has seen this one.
          await sleep(seen)
        }
      }
    }
    const rolled = roll()
    const { problems, refused, served } = await load.run({
      kind: "requests",
      ports,
      headers: { "x-api-key": key },
      bodies: [false, true, false, false].map(messagesBody),
      rate: count / seconds,
      count,
      probe
    })
    over = true
    await rolled
    for (const child of [...replicas.map((replica) => replica.child), load.child, cloud.child]) await end(child)
    const all = [
      ...problems,
      ...(refused.count > 0 ? [["503", refused.count] as const] : []),
      ...(unclean > 0 ? [["a replica did not end with 0", unclean] as const] : []),
      ...(restarts < 2 ? [["too short for a restart of both", 1] as const] : [])
    ]
    return [
      nothing(
        `0 of ${count.toLocaleString("en-US")} requests fail`,
        `${served.count} served, a quarter of them streams; ${restarts} restarts`,
        all
      )
    ]
  }
}
