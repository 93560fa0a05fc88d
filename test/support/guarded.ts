/** Requests of every surface that say a text, and what their replies say, for tests of guards. */
import { type Detector, guardsFile, type Rule, usual } from "./detector.ts"
import { type Gateway, startGateway } from "./gateway.ts"
import { eventsIn, type Got } from "./http.ts"

interface GuardedOptions {
  readonly settings?: Readonly<Record<string, string>>
  readonly pace?: number
  readonly rule?: Rule
}

/** Runs with a gateway that has these guards; their address is the detector's. */
export const makeGuarded =
  (detector: Detector) =>
  async (
    guards: ReadonlyArray<object>,
    use: (gateway: Gateway) => Promise<unknown>,
    { pace = 0, rule = usual, settings = {} }: GuardedOptions = {}
  ) => {
    const file = guardsFile(guards.map((guard) => ({ url: detector.url, ...guard })))
    detector.use(rule)
    const gateway = await startGateway({ settings: { GATEWAY_GUARDS_FILE: file.path, ...settings }, pace })
    try {
      await use(gateway)
    } finally {
      await gateway.stop()
      file.remove()
    }
  }

/** Without random IDs, which may hold any digits. */
export const withoutIds = (text: string): string => text.replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "")

export interface GuardedCase {
  readonly surface: "chat" | "messages" | "responses"
  readonly path: string
  /** A request whose last user message is this text. */
  readonly ask: (text: string, more?: object) => object
  /** The text of a whole reply. */
  readonly said: (got: Got) => string
  /** Why a whole reply ended. */
  readonly ended: (got: Got) => unknown
  /** How that says that something was kept back. */
  readonly withheld: unknown
}

const joined = (parts: ReadonlyArray<{ readonly text?: string }> = []): string =>
  parts.map(({ text = "" }) => text).join("")

export const guardedCases: ReadonlyArray<GuardedCase> = [
  {
    surface: "chat",
    path: "/v1/chat/completions",
    ask: (text, more = {}) => ({
      model: "claude-sonnet-4-5:il5",
      reasoning_effort: "none",
      messages: [{ role: "user", content: text }],
      ...more
    }),
    said: ({ json }) => json.choices[0].message.content ?? "",
    ended: ({ json }) => json.choices[0].finish_reason,
    withheld: "content_filter"
  },
  {
    surface: "messages",
    path: "/v1/messages",
    ask: (text, more = {}) => ({
      model: "claude-sonnet-4-5:il5",
      max_tokens: 400,
      messages: [{ role: "user", content: text }],
      ...more
    }),
    said: ({ json }) => joined(json.content),
    ended: ({ json }) => json.stop_reason,
    withheld: "refusal"
  },
  {
    surface: "responses",
    path: "/v1/responses",
    ask: (text, more = {}) => ({ model: "gpt-5.1:il5", input: text, ...more }),
    said: ({ json }) =>
      json.output
        .flatMap(({ content, type }: { content?: []; type: string }) => (type === "message" ? [joined(content)] : []))
        .join(""),
    ended: ({ json }) => json.incomplete_details?.reason ?? json.status,
    withheld: "content_filter"
  }
]

/** A directive that has the sandbox say this. */
export const saying = (text: string): string => `[sandbox: text=${JSON.stringify(text)}]`

/** What a stream said, put together from its pieces. */
export const streamedText = (surface: GuardedCase["surface"], text: string): string =>
  eventsIn(text)
    .map(({ json }) => {
      if (surface === "chat") return json?.choices?.[0]?.delta?.content ?? ""
      if (surface === "messages") return json?.delta?.text ?? ""
      return json?.type === "response.output_text.delta" ? json.delta : ""
    })
    .join("")
