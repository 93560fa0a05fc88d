/** L2: very many streams in which little happens. */
import { end } from "../processes.ts"
import { weigh } from "../weigh.ts"
import {
  atMost,
  gatewayAt,
  nothing,
  openFiles,
  type Scenario,
  type Setting,
  startCloud,
  startLoad,
  throughGateway
} from "./programme.ts"

/** Milliseconds between two events of a stream. */
const every = 5_000

const crowd = async ({ directory, seconds }: Setting, wanted: number) => {
  // A stream takes two sockets of the gateway, which needs some files beside them.
  const streams = Math.min(wanted, Math.floor((openFiles() - 200) / 2))
  const spread = Math.max(5, wanted / 500)
  const events = Math.max(2, Math.ceil(((spread + seconds / 2) * 1000) / every))
  const cloud = await startCloud({ events, every, delay: 0 })
  const load = await startLoad()
  const gateway = await gatewayAt(directory, cloud.port)
  const { open, problems, whole } = await load.run({
    kind: "streams",
    port: gateway.port,
    request: throughGateway(gateway.key),
    streams,
    events,
    spread: spread * 1000,
    until: 0
  })
  const { peak } = weigh(gateway.child.pid)
  for (const child of [gateway.child, cloud.child, load.child]) await end(child)
  const few = streams < wanted ? `; a process may open ${openFiles()} files here, hence not ${wanted}` : ""
  const all = open < streams ? [...problems, [`only ${open} of ${streams} were open at once`, 1] as const] : problems
  return [
    nothing(`${wanted} streams at once, all whole`, `${open} at once, ${whole} whole${few}`, all),
    // With fewer streams there is less room for them.
    atMost(`memory at ${streams} streams`, peak, Math.floor((1024 * streams) / wanted), "MiB")
  ]
}

export const idle: Scenario = {
  name: "L2",
  title: "5,000 and 10,000 mostly idle streams",
  full: 120,
  short: 20,
  run: async (setting) => [...(await crowd(setting, 5_000)), ...(await crowd(setting, 10_000))]
}
