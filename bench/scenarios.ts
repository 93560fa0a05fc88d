/** Everything that is measured: who is asked, how the cloud answers, against which yardstick, and what the gateway aims at. */

import type { Call } from "./calls.ts"
import * as asked from "./calls.ts"
import type { Pace } from "./upstream.ts"

/** `upstream` is the fake cloud without anything in between; `exporting` the gateway that exports traces, metrics and logs. */
export type Subject = "upstream" | "proxy" | "gateway" | "exporting" | "portkey"

export interface Aim {
  readonly subject: Subject
  readonly against: Subject
  /**
   * Shares of the other's: requests or events a second, processor time for each of them, and wall time. Milliseconds on top of the other's: to the last byte (`later`), to the first event (`added`).
   */
  readonly metric: "req/s" | "events/s" | "cpu" | "wall" | "later" | "added"
  readonly atLeast?: number
  readonly atMost?: number
  /** Where the aim holds; everywhere when absent. */
  readonly callers?: number
}

export interface Scenario {
  readonly name: string
  readonly title: string
  readonly pace: Pace
  /** Whether the reply is a stream, whose every text event must arrive. */
  readonly stream: boolean
  /** Who is asked what; the first is the yardstick. */
  readonly calls: Partial<Record<Subject, Call>>
  /** Numbers of callers, of which a smoke run takes the first; the subjects that are asked with each, when not all are. */
  readonly callers: ReadonlyArray<{ readonly count: number; readonly subjects?: ReadonlyArray<Subject> }>
  /** Whether `--callers` leaves them alone. */
  readonly fixed?: boolean
  readonly aims: ReadonlyArray<Aim>
  /** Milliseconds one operation takes by design, where the pace does not say it. */
  readonly span?: number
  /** More rounds than the usual, for aims that are closer than a tenth. */
  readonly moreRounds?: number
}

/** The cloud that is never the bottleneck, and the clouds as they are. */
export const bursts: Pace = { events: 200, delay: 0, burst: 10, every: 0 }
const asSent: Pace = { events: 200, delay: 0, burst: 1, every: 10 }
const short: Pace = { events: 10, delay: 0, burst: 1, every: 10 }

const against =
  (subject: Subject, other: Subject) =>
  (metric: Aim["metric"], bounds: Pick<Aim, "atLeast" | "atMost" | "callers">): Aim => ({
    subject,
    against: other,
    metric,
    ...bounds
  })
const ours = against("gateway", "proxy")

/** The least share of the bare proxy's events a second in bursts. */
const native = 0.3
const translated = 0.18

export interface Surface {
  readonly name: string
  readonly title: string
  readonly bursts: number
  /** What the proxies are asked. */
  readonly cloud: (stream: boolean) => Call
  readonly gateway: (stream: boolean) => Call
  readonly portkey?: Call
}

export const surfaces: ReadonlyArray<Surface> = [
  {
    name: "messages",
    title: "Messages, Claude on Vertex",
    bursts: native,
    cloud: asked.claudeOnVertex,
    gateway: (stream) => asked.messages("claude-sonnet-4-5:il2", stream)
  },
  {
    name: "bedrock",
    title: "Messages, Claude on Bedrock",
    bursts: native,
    cloud: asked.claudeOnBedrock,
    gateway: (stream) => asked.messages("claude-sonnet-4-5:il5", stream)
  },
  {
    name: "chat-claude",
    title: "Chat, Claude on Vertex",
    bursts: translated,
    cloud: asked.claudeOnVertex,
    gateway: (stream) => asked.chat("claude-sonnet-4-5:il2", stream),
    portkey: asked.portkey("vertex-ai", "anthropic.claude-sonnet-4-5@20250929")
  },
  {
    name: "chat-gemini",
    title: "Chat, Gemini on Vertex",
    bursts: translated,
    cloud: asked.geminiOnVertex,
    gateway: (stream) => asked.chat("gemini-3-flash:il2", stream),
    portkey: asked.portkey("vertex-ai", "google.gemini-3-flash")
  },
  {
    name: "chat-gpt",
    title: "Chat, GPT on Azure",
    bursts: translated,
    cloud: (stream) => asked.chatCloud("gpt-5.1", stream),
    gateway: (stream) => asked.chat("gpt-5.1:il5", stream),
    portkey: asked.portkey("azure-openai", "gpt-5.1")
  },
  {
    name: "chat-oss",
    title: "Chat, gpt-oss on Bedrock",
    bursts: translated,
    cloud: (stream) => asked.chatCloud("openai.gpt-oss-120b-1:0", stream),
    gateway: (stream) => asked.chat("gpt-oss-120b:il5", stream)
  },
  {
    name: "responses",
    title: "Responses, GPT on Azure",
    bursts: native,
    cloud: (stream) => asked.responsesCloud("gpt-5.1", stream),
    gateway: (stream) => asked.responses("gpt-5.1:il5", stream)
  }
]

/** The four ways in which a surface is measured. */
const waysOf = ({ bursts: leastInBursts, cloud, gateway, name, portkey, title }: Surface): ReadonlyArray<Scenario> => {
  const streamed = { proxy: cloud(true), gateway: gateway(true) }
  return [
    {
      name: `${name}-whole`,
      title: `${title}: whole replies`,
      pace: bursts,
      stream: false,
      calls: {
        proxy: cloud(false),
        gateway: gateway(false),
        ...(portkey === undefined ? {} : { portkey })
      },
      callers: [{ count: 32 }],
      aims: [
        ours("req/s", { atLeast: 0.4, callers: 32 }),
        against("gateway", "portkey")("req/s", { atLeast: 2.7, callers: 32 })
      ]
    },
    {
      name: `${name}-bursts`,
      title: `${title}: streams of ${bursts.events} events in bursts of ${bursts.burst}`,
      pace: bursts,
      stream: true,
      calls: streamed,
      callers: [{ count: 32 }],
      aims: [ours("events/s", { atLeast: leastInBursts })]
    },
    {
      name: `${name}-sent`,
      title: `${title}: streams of ${asSent.events} events as clouds send them, ${asSent.every} ms apart`,
      pace: asSent,
      stream: true,
      calls: streamed,
      callers: [{ count: 200 }],
      fixed: true,
      aims: [ours("cpu", { atMost: 1.4 })]
    },
    {
      name: `${name}-first`,
      title: `${title}: the first event of a stream`,
      pace: short,
      stream: true,
      calls: streamed,
      callers: [{ count: 1 }],
      aims: [ours("added", { atMost: 1.5 })]
    }
  ]
}

const exported = (name: string, title: string, stream: boolean, pace: Pace, count: number, aim: Aim): Scenario => {
  const call = asked.messages("claude-sonnet-4-5:il2", stream)
  return {
    name: `telemetry-${name}`,
    title: `Traces, metrics and logs exported or not: ${title}`,
    pace,
    stream,
    calls: { gateway: call, exporting: call },
    callers: [{ count }],
    fixed: pace.every > 0,
    aims: [aim],
    moreRounds: 2
  }
}
const exporting = against("exporting", "gateway")

export const scenarios: ReadonlyArray<Scenario> = [
  ...surfaces.flatMap(waysOf),
  {
    name: "embeddings",
    title: `Embeddings: ${asked.strings} strings, an upstream that takes 20 ms for each`,
    pace: { ...bursts, delay: 20 },
    stream: false,
    calls: { upstream: asked.titan, gateway: asked.embeddings },
    callers: [{ count: 1 }, { count: 4 }],
    fixed: true,
    aims: [against("gateway", "upstream")("wall", { atMost: 1.1 })],
    span: (asked.strings / asked.lanes) * 20
  },
  exported("whole", "whole replies", false, bursts, 32, exporting("req/s", { atLeast: 0.7 })),
  exported("bursts", "streams in bursts", true, bursts, 32, exporting("events/s", { atLeast: 0.7 })),
  exported("sent", "streams as clouds send them", true, asSent, 200, exporting("cpu", { atMost: 1.1 }))
]

/** Milliseconds one operation of a scenario takes by design. */
export const spanOf = ({ pace, span, stream }: Scenario): number => span ?? (stream ? pace.events * pace.every : 0)
