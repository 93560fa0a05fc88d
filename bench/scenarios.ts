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

/** `exporting` is a gateway that exports traces, metrics and logs, `effect` an empty service of the same libraries. */
export type Subject = "proxy" | "effect" | "gateway" | "exporting" | "portkey"

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

/** The same of an empty Effect service, which has no floor: it shows what the libraries take. */
const ofEffect = ({ against, metric, name }: Aim): Aim => ({
  name: `– an empty Effect service: ${name}`,
  subject: "effect",
  against,
  metric
})

interface Others {
  readonly portkey?: Call
  /** Whether an empty Effect service is asked too. */
  readonly effect?: boolean
}

const surface = (
  name: string,
  least: Aim,
  cloud: CallOf,
  gateway: CallOf,
  { effect = false, portkey }: Others = {}
): ReadonlyArray<Scenario> => {
  const scenario = (kind: string, aim: Aim, stream: boolean, pace: Pace, callers: number): Scenario => ({
    ...{ name: `${name}-${kind}`, pace, stream, callers },
    calls: { proxy: cloud(stream), ...(effect ? { effect: cloud(stream) } : {}), gateway: gateway(stream) },
    aims: effect ? [aim, ofEffect(aim)] : [aim]
  })
  const replies = scenario("whole", whole, false, bursts, 32)
  return [
    portkey === undefined
      ? replies
      : { ...replies, calls: { ...replies.calls, portkey }, aims: [...replies.aims, timesPortkey] },
    scenario("bursts", least, true, bursts, 32),
    scenario("sent", sent, true, asSent, 200),
    scenario("first", first, true, short, 1)
  ]
}

const claudePeer = portkey("vertex-ai", "anthropic.claude-sonnet-4-5@20250929")
const geminiPeer = portkey("vertex-ai", "google.gemini-3-flash")
const gptPeer = portkey("azure-openai", "gpt-5.1")
const plain = messages("claude-sonnet-4-5:il2")(false)

export const scenarios: ReadonlyArray<Scenario> = [
  ...surface("messages", native, claudeOnVertex, messages("claude-sonnet-4-5:il2"), { effect: true }),
  ...surface("bedrock", native, claudeOnBedrock, messages("claude-sonnet-4-5:il5")),
  ...surface("responses", native, openAiResponses("gpt-5.1"), responses("gpt-5.1:il5")),
  ...surface("chat-claude", translated, claudeOnVertex, chat("claude-sonnet-4-5:il2"), { portkey: claudePeer }),
  ...surface("chat-gemini", translated, geminiOnVertex, chat("gemini-3-flash:il2"), { portkey: geminiPeer }),
  ...surface("chat-gpt", translated, openAiChat("gpt-5.1"), chat("gpt-5.1:il5"), { portkey: gptPeer }),
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
