/** Before a subject is measured. */
import { type Parties, round } from "./measure.ts"
import { bursts, type Scenario, type Subject } from "./scenarios.ts"
import type { Running } from "./subjects.ts"

/**
 * So many requests of a kind each subject answers before it is measured: what runs once a request gets V8's best code after some
 * 20,000. In parts, because a round ends with callers that are cut off, after which some of the code is compiled anew.
 */
const enough = 30_000

export interface Parts {
  readonly partMs: number
  readonly mostParts: number
}

/** At the pace at which clouds send, the code of a request would hardly be compiled: a stream is warmed up as fast as it goes. */
export const asFast = (scenario: Scenario): Scenario => {
  const { burst, every } = bursts
  return { ...scenario, pace: { ...scenario.pace, burst, every } }
}

/** Asks for what a scenario asks, the fake cloud being as fast as it should; answers how many were answered, with those before. */
export const warmUp = async (
  parties: Parties,
  scenario: Scenario,
  subject: Subject,
  running: Running,
  { mostParts, partMs }: Parts,
  before = 0
): Promise<number> => {
  const callers = Math.min(32, scenario.callers[0]?.count ?? 32)
  let answered = before
  for (let part = 0; part < mostParts && answered < enough; part++) {
    const sample = await round(parties, scenario, subject, running, callers, { warm: 0, measure: partMs })
    answered += (sample.requestsPerSecond * partMs) / 1000
  }
  return answered
}

export const partsOf = (quick: boolean): Parts =>
  quick ? { partMs: 100, mostParts: 1 } : { partMs: 4_000, mostParts: 6 }
