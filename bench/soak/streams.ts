/** Readers of many streams, who check the number and the time of each event. */
import { setTimeout as sleep } from "node:timers/promises"
import { openConnection } from "../connection.ts"
import { micros, STAMP } from "./stamp.ts"
import { counter, makeTimes, type Problems, type Summary } from "./tally.ts"

export interface StreamsJob {
  readonly kind: "streams"
  readonly port: number
  /** Head and body. */
  readonly request: string
  readonly streams: number
  /** Events of each stream. */
  readonly events: number
  /** Milliseconds over which the first streams open, and until which each that ends is followed by another. */
  readonly spread: number
  readonly until: number
}

export interface StreamsResult {
  /** Streams that came whole, and most that were open at a time. */
  readonly whole: number
  readonly open: number
  /** From the cloud's write of an event to its arrival here. */
  readonly late: Summary
  readonly problems: Problems
}

export const readStreams = async (job: StreamsJob): Promise<StreamsResult> => {
  const late = makeTimes()
  const problems = counter()
  const request = Buffer.from(job.request)
  let whole = 0
  let open = 0
  let most = 0

  /** Answers whether the stream came whole. */
  const readOne = async (): Promise<boolean> => {
    let text = ""
    let next = 0
    let begun = false
    let terminated = false
    const connection = openConnection(job.port, request, (piece) => {
      if (!begun) most = Math.max(most, ++open)
      begun = true
      text += piece
      const now = micros()
      let end = 0
      for (const stamp of text.matchAll(STAMP)) {
        end = stamp.index + stamp[0].length
        late.add((now - Number(stamp[2])) / 1000)
        const number = Number(stamp[1])
        if (number !== next) problems.add(number < next ? "an event came twice or late" : "an event was lost")
        next = number + 1
      }
      if (text.includes("event: error")) problems.add("an error event")
      if (text.includes("message_stop")) terminated = true
      text = text.slice(Math.max(end, text.length - 64))
    })
    const status = await connection.send()
    connection.close()
    if (begun) open--
    if (status === 200 && next === job.events && terminated) return true
    if (status !== 0 && status !== 200) problems.add(`refused: ${status}`)
    else if (status === 0) problems.add(`the connection broke after ${next} events: ${connection.problem}`)
    else problems.add(`ended after ${next} events${terminated ? "" : ", without a terminal event"}`)
    return false
  }

  const until = Date.now() + job.until
  const reader = async (n: number) => {
    await sleep((job.spread * n) / job.streams)
    do {
      if (await readOne()) whole++
      else await sleep(200)
    } while (Date.now() < until)
  }
  await Promise.all(Array.from({ length: job.streams }, (_, n) => reader(n)))
  return { whole, open: most, late: late.summary(), problems: [...problems.counts] }
}
