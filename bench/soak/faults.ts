/**
 * L8: Redis is killed and comes back, clouds reset their connections, and of everything else that goes wrong there is one percent.
 * Each request ends in exactly one of its promised ways, and has one usage record, which says the same.
 */
import { Agent, type IncomingMessage } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { hasOwnRedis, startRedis } from "../../test/access/redis.ts"
import { createKey } from "../peers/gateway.ts"
import { end } from "../processes.ts"
import {
  apis,
  bodyOf,
  endsOf,
  type Place,
  paths,
  pick,
  readStream,
  send,
  textOf,
  wholeText,
  wordsOf
} from "./callers.ts"
import { nothing, type Scenario } from "./programme.ts"
import { sandboxGateway } from "./sandboxed.ts"

const callers = 24
const words = 20

/** What clouds do, and callers; one request in a hundred meets each. */
const faults = [
  ...["status=400", "status=403", "status=429 retry-after=1", "status=500", "status=529"],
  ...["cut after=0", "cut after=6", "garbage after=6", "exception=internalServerException after=6", "stall after=6"],
  ...["no-terminal", "html", "redirect", "delay=3s", "left", "left before an answer"]
] as const
type Fault = (typeof faults)[number]
const drawn = (): Fault | undefined => faults[Math.floor(Math.random() * 100)]

/** How a request ended, as its caller saw it. */
type Way = "answered" | "refused" | "broken off" | "left"

interface Seen {
  readonly way: Way
  readonly status: number | undefined
}

const isError = (text: string): boolean => {
  try {
    return typeof JSON.parse(text).error?.message === "string"
  } catch {
    return false
  }
}

export const faulty: Scenario = {
  name: "L8",
  title: "Redis killed and back, clouds that reset, one percent of everything",
  full: 300,
  short: 30,
  run: async ({ directory, seconds }) => {
    const aim = "each request ends in one promised way, with one record that agrees"
    if (!hasOwnRedis) return [{ aim, measured: "there is no redis-server here", met: undefined }]
    const limited = createKey(directory, "--monthly-tokens", "1000000000")
    const plain = createKey(directory)
    let redis = await startRedis()
    const redisPort = Number(new URL(redis.url).port)
    const { child, port, records } = await sandboxGateway(directory, {
      GATEWAY_REDIS_URL: redis.url,
      GATEWAY_STREAM_IDLE_TIMEOUT: "2 seconds",
      GATEWAY_REQUEST_CEILING: "6 seconds"
    })

    const problems = new Map<string, number>()
    const wrong = (what: string) => void problems.set(what, (problems.get(what) ?? 0) + 1)
    const seen = new Map<string, Seen>()
    const ways = new Map<string, number>()
    /** Requests that left without an answer's ID, and may have a record. */
    let unknown = 0
    let phase: "before" | "without Redis" | "after" = "before"
    const answeredIn = new Map<string, number>()

    const leave = async (response: IncomingMessage) => {
      let pieces = 3
      await new Promise<void>((resolve) => {
        response.on("data", () => pieces-- === 0 && response.destroy())
        response.on("error", () => undefined).once("close", () => resolve())
      })
    }

    const one = async (place: Place) => {
      const fault = drawn()
      const api = pick(apis)
      const streamed = Math.random() < 0.6
      const key = pick([limited, plain])
      const sandbox = fault === undefined || fault.startsWith("left") ? "" : ` [sandbox: ${fault}]`
      const request = send(place, paths[api], bodyOf(api, `[sandbox: events=${words}]${sandbox}`, streamed), key)
      const heard = new Promise<IncomingMessage>((resolve, reject) => {
        request.once("response", resolve).on("error", reject)
      })
      if (fault === "left before an answer") {
        heard.catch(() => undefined)
        unknown++
        await sleep(5)
        request.destroy()
        return
      }
      const response = await heard
      const status = response.statusCode
      const id = String(response.headers["x-request-id"])
      const note = (way: Way) => {
        if (seen.has(id)) wrong("two answers have one ID")
        seen.set(id, { way, status })
        ways.set(way, (ways.get(way) ?? 0) + 1)
        if (way === "answered") {
          const name = `${key === limited ? "limited" : "plain"} ${phase}`
          answeredIn.set(name, (answeredIn.get(name) ?? 0) + 1)
        }
      }
      if (fault === "left" && streamed && status === 200) {
        await leave(response)
        return note("left")
      }
      const text = await textOf(response)
      const about = `${api}, ${streamed ? "streamed" : "whole"}, ${fault ?? "no fault"}, ${phase}`
      if (status !== 200) {
        const waits = response.headers["retry-after"] !== undefined
        const expected = fault !== undefined || status === 503
        if (!isError(text) || !expected || ((status === 429 || status === 503) && !waits)) {
          wrong(`${about}: ${status}: ${text.slice(0, 150)}`)
        }
        note("refused")
        // Whoever is refused comes back a little later, so that refusals are not most of what is measured.
        if (status === 503) await sleep(50)
        return
      }
      const ends = streamed ? endsOf(api, text) : undefined
      const said = streamed ? readStream(api, text).said : wholeText(api, JSON.parse(text))
      if (ends !== undefined && ends.terminals + ends.errors !== 1) {
        wrong(`${about}: ${ends.terminals} ends and ${ends.errors} errors`)
      }
      if ((ends?.errors ?? 0) > 0) return note("broken off")
      if (said !== wordsOf(words)) wrong(`${about}: a success that is not whole`)
      note("answered")
    }

    const until = Date.now() + seconds * 1000
    const caller = async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const place: Place = { port, agent, tally: { answered: () => {}, unanswered: () => {}, wrong } }
      while (Date.now() < until) {
        const late = sleep(30_000).then(() => "late")
        const ended = one(place).catch((error) => wrong(`a caller's connection failed: ${error.code ?? error}`))
        if ((await Promise.race([ended, late])) === "late") wrong("a request hung for 30 seconds")
      }
      agent.destroy()
    }
    const outage = async () => {
      await sleep((seconds * 1000) / 3)
      phase = "without Redis"
      await redis.stop()
      await sleep((seconds * 1000) / 4)
      redis = await startRedis(redisPort)
      phase = "after"
    }
    await Promise.all([outage(), ...Array.from({ length: callers }, caller)])
    // What was left has a moment to come to its end.
    await sleep(3_000)
    await end(child)
    await redis.stop()
    if (child.exitCode !== 0) wrong(`SIGTERM gave ${child.exitCode}`)

    const outcomes = new Map<string, number>()
    let others = 0
    const met = new Set<string>()
    for (const { outcome, request_id, status } of records()) {
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      if (met.has(request_id)) wrong("a request has two records")
      met.add(request_id)
      const request = seen.get(request_id)
      if (request === undefined) {
        others++
        continue
      }
      if (request.way !== "left" && request.status !== status) wrong(`${request.status} was recorded as ${status}`)
      const ok = outcome === "ok"
      if (request.way !== "left" && ok !== (request.way === "answered"))
        wrong(`${request.way} was recorded as ${outcome}`)
    }
    for (const id of seen.keys()) if (!met.has(id)) wrong("a request has no record")
    if (others > unknown) wrong(`${others} records of ${unknown} requests that left before an answer`)
    for (const when of ["limited before", "plain before", "plain without Redis", "limited after", "plain after"]) {
      if ((answeredIn.get(when) ?? 0) === 0) wrong(`no answer to the ${when.replace(" ", " key ")}`)
    }
    const list = (counts: ReadonlyMap<string, number>) =>
      [...counts].map(([what, times]) => `${times} ${what}`).join(", ")
    return [nothing(aim, `${seen.size} requests: ${list(ways)}; records: ${list(outcomes)}`, [...problems])]
  }
}
