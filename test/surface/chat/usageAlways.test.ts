/**
 * Every chat answer says what it used, and its record and its caller have the same count (docs/api.md#chat-stream,
 * docs/decisions.md#limits-and-quotas).
 */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { chat } from "../../support/chat.ts"
import { type Kind, kinds } from "../../support/chatKinds.ts"
import { chunk, reply, streaming } from "../../support/fakeUpstream.ts"
import { eventsIn, post } from "../../support/http.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream()

const recordOf = async (id: string | null) => {
  for (let n = 0; n < 500; n++) {
    const found = gateway.records().find((record) => record.request_id === id)
    if (found !== undefined) return found
    await sleep(10)
  }
  throw new Error("there is no record")
}

const kindOf = (name: string): Kind => kinds.find((kind) => kind.name === name) ?? assert.fail(name)

const ask = async (kind: Kind, extra: Readonly<Record<string, unknown>>) => {
  const stream = extra.stream === true
  const options = stream ? { stream_options: { include_usage: true } } : {}
  const got = await post(
    `${gateway.url}/v1/chat/completions`,
    chat(kind.model, "x".repeat(400), { ...options, ...extra })
  )
  assert.strictEqual(got.status, 200, got.text)
  const record = await recordOf(got.headers.get("x-request-id"))
  const last = stream ? eventsIn(got.text).at(-2)?.json : got.json
  return { finish: last?.choices[0]?.finish_reason, usage: last?.usage, tokens: record.tokens as Counted | null }
}
interface Counted {
  readonly input: number
  readonly output: number
  readonly estimated?: boolean
}

const same = ({ tokens, usage }: Awaited<ReturnType<typeof ask>>) => {
  assert.include(usage, { prompt_tokens: tokens?.input, completion_tokens: tokens?.output })
  assert.strictEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
}

/** What the vendor does not take, and the gateway watches for. */
const watched: Readonly<Record<string, ReadonlyArray<string>>> = {
  "GPT on Azure": ["END"],
  "GPT on Bedrock": ["END"],
  "gpt-oss on Bedrock": ["1", "2", "3", "4", "END"],
  Gemini: ["1", "2", "3", "4", "5", "END"],
  "Claude on Vertex": ["\n\n"],
  "Claude on Bedrock": ["\n\n"]
}

describe.each(Object.entries(watched))("%s, ended at a stop sequence that the gateway watches for", (name, stop) => {
  const kind = kindOf(name)
  const end = stop.at(-1) ?? ""

  it("says what came until then in a stream, as an estimate", async () => {
    const texts = ["é".repeat(2_000), `a${end}b`, ...Array(50).fill("never said ")]
    const frames = kind.events({ texts }).map(kind.frame)
    // Nothing of what follows the sequence is sent, so that what came is the same each time.
    const until = frames.findIndex((frame) => String(frame).includes("never"))
    upstream.use((socket) => {
      socket.write(kind.head)
      for (const frame of frames.slice(0, until === -1 ? undefined : until)) socket.write(chunk(frame))
    })
    const got = await ask(kind, { stream: true, stop })
    assert.strictEqual(got.finish, "stop")
    assert.isTrue(got.tokens?.estimated)
    same(got)
    assert.isAtLeast(got.usage.completion_tokens, 1_000)
    assert.isAtMost(got.usage.completion_tokens, 1_010)
    assert.isAtLeast(got.usage.prompt_tokens, 10)
  })

  it("has the cloud's own count in a whole reply, which is cut after it came", async () => {
    upstream.use((socket) => void socket.end(reply("200 OK", JSON.stringify(kind.whole({ texts: [`one${end}two`] })))))
    const got = await ask(kind, { stop })
    assert.strictEqual(got.finish, "stop")
    assert.notProperty(got.tokens, "estimated")
    same(got)
    assert.strictEqual(got.usage.completion_tokens, 7)
  })
})

/** Without any count, wherever the vendor has it. */
const uncounted = (event: unknown): unknown =>
  typeof event !== "object" || event === null
    ? event
    : Array.isArray(event)
      ? event.map(uncounted)
      : Object.fromEntries(
          Object.entries(event)
            .filter(([name]) => name !== "usage" && name !== "usageMetadata")
            .map(([name, value]) => [name, uncounted(value)])
        )

describe.each(kinds.map((kind) => [kind.name, kind] as const))("%s, whose cloud counts nothing", (_, kind) => {
  const said = { texts: ["word ".repeat(1_000)] }

  it("says about what came in a stream", async () => {
    const events = kind.events(said).map((event) => uncounted(event) as typeof event)
    upstream.use(streaming(events.map(kind.frame), { head: kind.head }))
    const got = await ask(kind, { stream: true })
    assert.isTrue(got.tokens?.estimated)
    same(got)
    assert.isAtLeast(got.usage.completion_tokens, 1_250)
  })

  it("says about what came in a whole reply", async () => {
    upstream.use((socket) => void socket.end(reply("200 OK", JSON.stringify(uncounted(kind.whole(said))))))
    const got = await ask(kind, {})
    assert.isTrue(got.tokens?.estimated)
    same(got)
    assert.isAtLeast(got.usage.completion_tokens, 1_250)
    assert.isAtLeast(got.usage.prompt_tokens, 100)
  })
})
