/**
 * L8: Redis is killed and comes back, clouds reset their connections, and of everything else that goes wrong there is one percent.
 * Each request ends in one of its promised ways, and has one usage record, which agrees.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { hasOwnRedis, startRedis } from "../../test/limits/redis.ts"
import { createKey } from "../gateway.ts"
import { end } from "../processes.ts"
import { type Ask, pick, startSandbox } from "./callers.ts"
import { nothing, type Scenario } from "./scenario.ts"
import { counter } from "./tally.ts"

const words = 20
/** One request in a hundred meets each. */
const faults = [
  ...["status=400", "status=403", "status=429 retry-after=1", "status=500", "status=529"],
  ...["cut after=0", "cut after=6", "garbage after=6", "exception=internalServerException after=6", "stall after=6"],
  ...["no-terminal", "html", "redirect", "delay=3s"]
]
const draw = (): Ask => {
  const n = Math.floor(Math.random() * 100)
  const streamed = Math.random() < 0.6
  const fault = faults[n]
  if (fault !== undefined) return { words, streamed, fault }
  if (n === faults.length) return { words, streamed: true, leaves: "midway" }
  return n === faults.length + 1 ? { words, streamed, leaves: "early" } : { words, streamed }
}

export const faulty: Scenario = {
  name: "L8",
  title: "Redis killed and back, clouds that reset, one percent of everything",
  full: 300,
  short: 30,
  run: async (directory, seconds) => {
    const aim = "each request ends in one promised way, with one record that agrees"
    if (!hasOwnRedis) return [{ aim, measured: "there is no redis-server here", met: undefined }]
    const keys = { limited: createKey(directory, "--monthly-tokens", "1000000000"), plain: createKey(directory) }
    let redis = await startRedis()
    const env = {
      GATEWAY_REDIS_URL: redis.url,
      GATEWAY_STREAM_IDLE_TIMEOUT: "2 seconds",
      GATEWAY_REQUEST_CEILING: "6 seconds"
    }
    const sandbox = await startSandbox({ directory, env, outage: true })
    const { child, problems } = sandbox

    let phase: "before" | "without Redis" | "after" = "before"
    const answered = counter()
    const outage = async () => {
      await sleep((seconds * 1000) / 3)
      phase = "without Redis"
      await redis.stop()
      await sleep((seconds * 1000) / 4)
      redis = await startRedis(Number(new URL(redis.url).port))
      phase = "after"
    }
    const load = sandbox.during(24, seconds * 1000, async (agent) => {
      const name = pick(["limited", "plain"] as const)
      const way = await sandbox.generate(agent, draw(), keys[name])
      if (way === "answered") answered.add(`${name} key ${phase}`)
    })
    await Promise.all([outage(), load])
    // What was left has a moment to come to its end.
    await sleep(3_000)
    await end(child)
    await redis.stop()
    const outcomes = await sandbox.checkRecords()
    for (const when of [
      "limited key before",
      "limited key after",
      ...["before", "without Redis", "after"].map((when) => `plain key ${when}`)
    ]) {
      if (!answered.counts.has(when)) problems.add(`no answer to the ${when}`)
    }
    const list = (counts: ReadonlyMap<string, number>) =>
      [...counts].map(([what, times]) => `${times} ${what}`).join(", ")
    const done = `${sandbox.seen.size} requests: ${list(sandbox.ways.counts)}; records: ${list(outcomes)}`
    return [nothing(aim, done, [...problems.counts])]
  }
}
