/** What is measured: who is asked what, how the cloud answers, and the floors. */
import {
  type Call,
  type CallOf,
  chat,
  claudeOnBedrock,
  claudeOnVertex,
  geminiOnVertex,
  messages,
  openAiChat,
  openAiResponses,
  portkey,
  responses
} from "./calls.ts"
import type { Pace } from "./cloud.ts"

/** `exporting` is a gateway that exports traces, metrics and logs. */
export type Subject = "proxy" | "gateway" | "exporting" | "portkey"

/** Shares of the other's requests or events a second and of its CPU for each; milliseconds until the first event beyond the other's. */
export type Metric = "requests" | "events" | "cpu" | "first"

export interface Aim {
  /** Aims of one name are one line of the summary. */
  readonly name: string
  readonly subject: Subject
  readonly against: Subject
  readonly metric: Metric
  readonly atLeast?: number
  readonly atMost?: number
}

export interface Scenario {
  readonly name: string
  readonly pace: Pace
  readonly stream: boolean
  readonly calls: Partial<Record<Subject, Call>>
  readonly callers: number
  readonly aims: ReadonlyArray<Aim>
  /** Rounds of each pass; two where absent. */
  readonly rounds?: number
}

const bursts: Pace = { events: 200, burst: 10, every: 0 }
const asSent: Pace = { events: 200, burst: 1, every: 10 }
const short: Pace = { events: 10, burst: 1, every: 10 }

const ours = { subject: "gateway", against: "proxy" } as const
const whole: Aim = { ...ours, name: "whole replies, share of the bare proxy", metric: "requests", atLeast: 0.4 }
const timesPortkey: Aim = {
  ...{ subject: "gateway", against: "portkey" },
  ...{ name: "whole replies, times Portkey", metric: "requests", atLeast: 2.7 }
}
const native: Aim = { ...ours, name: "bursts, native, share of the bare proxy", metric: "events", atLeast: 0.3 }
const translated: Aim = { ...ours, name: "bursts, chat, share of the bare proxy", metric: "events", atLeast: 0.18 }
const sent: Aim = { ...ours, name: "as clouds send, CPU an event × bare proxy", metric: "cpu", atMost: 1.4 }
const first: Aim = { ...ours, name: "first event later, one caller, ms", metric: "first", atMost: 1.5 }
const telemetry: Aim = {
  ...{ subject: "exporting", against: "gateway" },
  ...{ name: "exported telemetry, share of the requests/s without", metric: "requests", atLeast: 0.7 }
}

const surface = (name: string, least: Aim, cloud: CallOf, gateway: CallOf, other?: Call): ReadonlyArray<Scenario> => {
  const replies = { stream: false, calls: { proxy: cloud(false), gateway: gateway(false) } }
  const peer = other && { calls: { ...replies.calls, portkey: other }, aims: [whole, timesPortkey] }
  const streams = { stream: true, calls: { proxy: cloud(true), gateway: gateway(true) } }
  return [
    { ...replies, name: `${name}-whole`, pace: bursts, callers: 32, aims: [whole], ...peer },
    { ...streams, name: `${name}-bursts`, pace: bursts, callers: 32, aims: [least] },
    { ...streams, name: `${name}-sent`, pace: asSent, callers: 200, aims: [sent] },
    { ...streams, name: `${name}-first`, pace: short, callers: 1, aims: [first] }
  ]
}

const claudePeer = portkey("vertex-ai", "anthropic.claude-sonnet-4-5@20250929")
const geminiPeer = portkey("vertex-ai", "google.gemini-3-flash")
const gptPeer = portkey("azure-openai", "gpt-5.1")
const plain = messages("claude-sonnet-4-5:il2")(false)

export const scenarios: ReadonlyArray<Scenario> = [
  ...surface("messages", native, claudeOnVertex, messages("claude-sonnet-4-5:il2")),
  ...surface("bedrock", native, claudeOnBedrock, messages("claude-sonnet-4-5:il5")),
  ...surface("responses", native, openAiResponses("gpt-5.1"), responses("gpt-5.1:il5")),
  ...surface("chat-claude", translated, claudeOnVertex, chat("claude-sonnet-4-5:il2"), claudePeer),
  ...surface("chat-gemini", translated, geminiOnVertex, chat("gemini-3-flash:il2"), geminiPeer),
  ...surface("chat-gpt", translated, openAiChat("gpt-5.1"), chat("gpt-5.1:il5"), gptPeer),
  ...surface("chat-oss", translated, openAiChat("openai.gpt-oss-120b-1:0"), chat("gpt-oss-120b:il5")),
  {
    name: "telemetry",
    pace: bursts,
    stream: false,
    calls: { gateway: plain, exporting: plain },
    callers: 32,
    aims: [telemetry],
    rounds: 4
  }
]

/** Scenarios whose name contains one of these parts, separated by commas. */
export const scenariosOf = (parts: string | undefined): ReadonlyArray<Scenario> =>
  scenarios.filter(({ name }) => parts === undefined || parts.split(",").some((part) => name.includes(part)))

/** Milliseconds that a reply takes by its pace. */
export const spanOf = ({ pace, stream }: Scenario): number => (stream ? pace.events * pace.every : 0)
