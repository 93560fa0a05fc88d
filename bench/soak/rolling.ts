/** L7: two replicas are restarted in turn, under load. */
import { setTimeout as sleep } from "node:timers/promises"
import { createKey, startGateway } from "../gateway.ts"
import { end, freePort } from "../processes.ts"
import { messagesBody, nothing, type Scenario, startCloud, startLoad } from "./scenario.ts"
import { counter } from "./tally.ts"

const count = 10_000
/** Milliseconds between two probes of `/health`, and after which the balancer knows a state also on a busy machine. */
const probe = 250
const noticed = 8 * probe

export const rolling: Scenario = {
  name: "L7",
  title: "two replicas restarted in turn, under load",
  full: 160,
  short: 80,
  run: async (directory, seconds) => {
    const cloud = await startCloud()
    await cloud.set(10, 50, { delay: 50 })
    const load = await startLoad()
    const key = createKey(directory)
    const begin = async (name: string, port: number) => {
      const env = { GATEWAY_PORT: String(port), GATEWAY_DRAIN_DELAY: `${noticed} millis` }
      return { name, ...(await startGateway({ name, directory, cloud: cloud.port, env })) }
    }
    const replicas = await Promise.all(["replica-a", "replica-b"].map(async (name) => begin(name, await freePort())))
    let over = false
    let restarts = 0
    const wrong = counter()
    const restart = async () => {
      for (let n = 0; !over; n = 1 - n) {
        const replica = replicas[n]
        if (replica === undefined) return
        await end(replica.child)
        if (replica.child.exitCode !== 0) wrong.add("a replica did not end with 0")
        replicas[n] = await begin(replica.name, replica.port)
        restarts++
        // The other one stays until the balancer knows this one.
        await sleep(noticed)
      }
    }
    const restarting = restart()
    const { problems, refused, served } = await load.requests({
      ports: replicas.map(({ port }) => port),
      key,
      bodies: [false, true, false, false].map(messagesBody),
      rate: count / seconds,
      count,
      probe
    })
    over = true
    await restarting
    await end(...replicas.map(({ child }) => child), load.child, cloud.child)
    if (refused.count > 0) wrong.add(`${refused.count} refusals`)
    if (restarts < 2) wrong.add("too short for a restart of both")
    const done = `${served.count} served, a quarter of them streams; ${restarts} restarts`
    return [nothing(`0 of ${count.toLocaleString("en-US")} requests fail`, done, [...problems, ...wrong.counts])]
  }
}
