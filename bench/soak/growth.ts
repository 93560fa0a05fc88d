/**
 * L5: the gateway in its sandbox, under a mix of everything for long: what grows (heap after a collection, open files), what is lost
 * or comes twice (events, usage records), what is logged as an error.
 */
import { readdirSync } from "node:fs"
import { Agent } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { end } from "../processes.ts"
import { median } from "../quantiles.ts"
import { callOnce, type Place } from "./callers.ts"
import { atMost, liveIn, measurable, nothing, type Scenario } from "./programme.ts"
import { sandboxGateway } from "./sandboxed.ts"

const callers = 32

/** The load pauses after each round, so that what is measured is what stays. The first third warms up. */
const roundsOf = (seconds: number) => Math.min(60, Math.max(6, Math.round(seconds / 15)))

export const growth: Scenario = {
  name: "L5",
  title: "a mix of everything",
  full: 3_600,
  short: 100,
  run: async ({ directory, seconds }) => {
    const problems = new Map<string, number>()
    const wrong = (what: string) => void problems.set(what, (problems.get(what) ?? 0) + 1)
    const { child, port, records, complaints } = await sandboxGateway(directory, {}, measurable)
    const replies: Array<string> = []
    let left = 0
    const tally = { answered: (id: string) => void replies.push(id), unanswered: () => void left++, wrong }
    const caller = async (place: Place, until: number) => {
      while (Date.now() < until) {
        await callOnce(place).catch((error: unknown) => wrong(`a caller failed: ${String(error)}`))
      }
    }

    const rounds = roundsOf(seconds)
    const heaps: Array<number> = []
    const files: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      const agent = new Agent({ keepAlive: true, maxSockets: callers })
      const until = Date.now() + (seconds * 1000) / rounds
      await Promise.all(Array.from({ length: callers }, () => caller({ port, agent, tally }, until)))
      agent.destroy()
      // Aborted calls have a moment to reach the clouds and come to their end.
      await sleep(1500)
      heaps.push((await liveIn(child)) / 2 ** 20)
      files.push(readdirSync(`/proc/${child.pid}/fd`).length)
    }
    await end(child)
    if (child.exitCode !== 0) wrong(`SIGTERM gave ${child.exitCode}`)
    for (const line of complaints()) wrong(line)

    const written = records()
    const known = new Map<string, number>()
    for (const { request_id } of written) known.set(request_id, (known.get(request_id) ?? 0) + 1)
    for (const id of replies) if (known.get(id) !== 1) wrong(`a reply has ${known.get(id) ?? 0} usage records`)
    const more = known.size - replies.length
    if (more > left) wrong(`${more} usage records belong to no reply, but only ${left} callers left early`)

    const third = Math.floor(rounds / 3)
    const grown = (of: ReadonlyArray<number>) => median(of.slice(-third)) - median(of.slice(third, 2 * third))
    return [
      nothing("nothing lost or doubled, each reply has its record", `${replies.length} replies`, [...problems]),
      atMost(`heap after a collection grows, of ${Math.round(median(heaps))} MiB,`, grown(heaps), 10, "MiB"),
      atMost("open files grow", grown(files), 16, "files")
    ]
  }
}
