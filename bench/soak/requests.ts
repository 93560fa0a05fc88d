/**
 * Requests at a fixed rate, whether or not earlier ones have been answered, to one gateway or to several in turn. Of several, one
 * whose `/health` is not 200 gets none, as behind a load balancer.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { openAgent } from "./http.ts"
import { counter, makeTimes, type Problems, type Summary } from "./tally.ts"

export interface RequestsJob {
  readonly kind: "requests"
  readonly ports: ReadonlyArray<number>
  readonly key: string
  /** Sent in turn to `/v1/messages`. */
  readonly bodies: ReadonlyArray<string>
  /** Requests a second, and how many in all. */
  readonly rate: number
  readonly count: number
  /** Milliseconds between two requests of `/health`; 0 is never. */
  readonly probe: number
}

export interface RequestsResult {
  /** Milliseconds to the last byte, of whole answers and of 503 with `retry-after`. */
  readonly served: Summary
  readonly refused: Summary
  readonly problems: Problems
}

export const sendRequests = async ({
  bodies,
  count,
  key,
  ports,
  probe,
  rate
}: RequestsJob): Promise<RequestsResult> => {
  const served = makeTimes()
  const refused = makeTimes()
  const problems = counter()
  const agents = ports.map((port) => openAgent(port, key))
  const up = new Set(agents)
  let over = false

  const watch = async (agent: (typeof agents)[number]) => {
    while (!over) {
      const healthy = await agent.get("/health", 1_000).then(
        ({ status }) => status === 200,
        () => false
      )
      if (healthy) up.add(agent)
      else up.delete(agent)
      await sleep(probe)
    }
  }
  const one = async (n: number) => {
    const body = bodies[n % bodies.length] ?? ""
    // When all seem down balancers try them all; a busy machine may only be late with the answer.
    const among = up.size === 0 ? agents : agents.filter((agent) => up.has(agent))
    const began = performance.now()
    const { headers, status, text } = (await among[n % among.length]?.post("/v1/messages", body)) ?? never()
    const ms = performance.now() - began
    const whole = text.includes(body.includes('"stream":true') ? '"message_stop"' : '"end_turn"')
    if (status === 200 && whole) served.add(ms)
    else if (status === 503 && Number(headers["retry-after"]) > 0) refused.add(ms)
    else problems.add(`${status}: ${text.slice(-200)}`)
  }

  const watching = probe > 0 ? agents.map(watch) : []
  const running: Array<Promise<void>> = []
  const began = performance.now()
  for (let n = 0; n < count; await sleep(1)) {
    const due = Math.min(count, ((performance.now() - began) * rate) / 1000)
    for (; n < due; n++) running.push(one(n).catch((error) => problems.add(String(error.code ?? error.message))))
  }
  await Promise.all(running)
  over = true
  await Promise.all(watching)
  for (const agent of agents) agent.close()
  return { served: served.summary(), refused: refused.summary(), problems: [...problems.counts] }
}

const never = (): never => {
  throw new Error("there is no gateway")
}
