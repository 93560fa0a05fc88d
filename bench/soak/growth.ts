/**
 * L5: a mix of everything for long: what grows (memory in use after a collection, open files), what is lost or comes twice (events,
 * usage records), what is logged as an error.
 */
import { readdirSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { end } from "../processes.ts"
import { median } from "../quantiles.ts"
import { type Ask, between, bodyOf, pick, startSandbox } from "./callers.ts"
import type { openAgent } from "./http.ts"
import { atMost, measurable, mibInUse, nothing, type Scenario } from "./scenario.ts"

type Agent = ReturnType<typeof openAgent>

const callers = 32
const faults = [
  ...["status=429 retry-after=1", "status=500", "html", "redirect", "cut after=6", "garbage after=6"],
  ...["exception=internalServerException after=6", "no-terminal"]
]
/** Requests that are refused: status, path, body, and a key that is not the usual one. */
const refusals: ReadonlyArray<readonly [status: number, path: string, body: string, key?: string]> = [
  [400, "/v1/chat/completions", "{not json"],
  [400, "/v1/messages", '{"model":"claude-sonnet-4-5"}'],
  [400, "/v1/responses", '{"model":"gpt-5.1:il5","input":"x","store":true}'],
  [400, "/v1/embeddings", '{"model":"titan-embed-text-v2:il5","input":""}'],
  [401, "/v1/messages", "{}", "no-such-key"],
  [403, "/v1/chat/completions", "{}", "no-such-key"]
]

export const growth: Scenario = {
  name: "L5",
  title: "a mix of everything",
  full: 3_600,
  short: 100,
  run: async (directory, seconds) => {
    const sandbox = await startSandbox({ directory, flags: measurable, outage: false })
    const { child, expect, generate, problems } = sandbox

    const text = (ask: () => Ask) => (agent: Agent) => generate(agent, ask())
    const embeddings = async (agent: Agent) => {
      const input = Array.from({ length: between(1, 20) }, (_, n) => `text ${n}`)
      const body = { model: "titan-embed-text-v2:il5", input, encoding_format: pick(["float", "base64"]) }
      const { data } = JSON.parse(await expect(agent, 200, "/v1/embeddings", JSON.stringify(body)))
      const order = data?.map(({ index }: { index: number }) => index).join()
      if (order !== input.map((_, n) => n).join()) problems.add(`embeddings: the order is ${order}`)
    }
    /** Counting leaves no record. */
    const counting = async (agent: Agent) => {
      const reply = await agent.post("/v1/messages/count_tokens", bodyOf("messages", "count me", false))
      if (!(JSON.parse(reply.text).input_tokens > 0)) problems.add("counting gave no count")
    }
    const streamed = true
    const mix: ReadonlyArray<readonly [share: number, run: (agent: Agent) => Promise<unknown>]> = [
      [30, text(() => ({ streamed, words: between(1, 300) }))],
      [4, text(() => ({ streamed, words: between(1, 3_000), pause: 10 }))],
      [20, text(() => ({ streamed: false, words: between(1, 300) }))],
      [8, text(() => ({ streamed: Math.random() < 0.7, words: 20, fault: pick(faults) }))],
      [8, text(() => ({ streamed, words: 3_000, leaves: "midway" }))],
      [3, text(() => ({ streamed, words: 10, leaves: "midway", fault: "stall after=5" }))],
      [5, text(() => ({ streamed: Math.random() < 0.5, words: 10, leaves: "early" }))],
      [10, embeddings],
      [6, counting],
      [6, (agent) => expect(agent, ...pick(refusals))]
    ]
    const drawn = mix.flatMap(([share, run]) => Array.from({ length: share }, () => run))

    // The load pauses after each round, so that what stays is measured. The first third warms up.
    const rounds = Math.min(60, Math.max(6, Math.round(seconds / 15)))
    const used: Array<number> = []
    const files: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      await sandbox.during(callers, (seconds * 1000) / rounds, (agent) => pick(drawn)(agent))
      // Aborted calls have a moment to reach the clouds and end.
      await sleep(1_500)
      used.push(await mibInUse(child))
      files.push(readdirSync(`/proc/${child.pid}/fd`).length)
    }
    await end(child)
    await sandbox.checkRecords()

    const third = Math.floor(rounds / 3)
    const grown = (of: ReadonlyArray<number>) => median(of.slice(-third)) - median(of.slice(third, 2 * third))
    const replies = `${sandbox.seen.size} replies`
    return [
      nothing("nothing lost or doubled, each reply has its record", replies, [...problems.counts]),
      atMost(`memory in use, of ${Math.round(median(used))} MiB, grows`, grown(used), 10, "MiB"),
      atMost("open files grow", grown(files), 16, "files")
    ]
  }
}
