/** `chat`: a conversation with a model from the terminal, through the typed client (docs/operation.md#commands). */
import { Config, Data, Effect, Option, Redacted, Result, Stream, Terminal } from "effect"
import { Command, Flag } from "effect/cli"
import { FetchHttpClient, HttpClient } from "effect/http"
import { type ChatMessage, type Client, isModelName, type ModelName, makeClient } from "../Client.ts"
import {
  addChunk,
  coloured,
  emptyAnswer,
  explainFailure,
  footer,
  greeting,
  plain,
  printable,
  type Style,
  said
} from "./transcript.ts"

export class ChatError extends Data.TaggedError("ChatError")<{ readonly message: string }> {}

export interface Conversation {
  readonly client: Client
  readonly model: ModelName
  readonly url: string
  /** A person at a terminal is greeted and prompted, and an error does not end the conversation. */
  readonly interactive: boolean
  readonly style: Style
}

/** One question and its streamed answer. */
const turn = Effect.fnUntraced(function* (
  { client, model, style }: Conversation,
  messages: ReadonlyArray<ChatMessage>,
  print: (text: string) => Effect.Effect<void>
) {
  const { body, headers } = yield* client.chat.completions({
    model,
    messages,
    stream: true,
    stream_options: { include_usage: true }
  })
  let answer = emptyAnswer
  yield* Stream.runForEach(body, (chunk) => {
    answer = addChunk(answer, chunk)
    return print(printable(said(chunk)))
  })
  yield* print(`\n${footer(answer, headers, style)}\n`)
  return answer.text
})

/** Asks line by line until the input ends or, at a terminal, a line is empty. A turn that failed is forgotten. */
export const converse = Effect.fnUntraced(function* (conversation: Conversation) {
  const { model, url, interactive, style } = conversation
  const terminal = yield* Terminal.Terminal
  const print = (text: string) => Effect.orDie(terminal.display(text))
  if (interactive) yield* print(greeting(model, url, style))
  let messages: ReadonlyArray<ChatMessage> = []
  while (true) {
    if (interactive) yield* print("\n> ")
    const line = yield* Effect.option(terminal.readLine)
    if (Option.isNone(line) || (interactive && line.value.trim() === "")) return
    if (line.value.trim() === "") continue
    const asked: ReadonlyArray<ChatMessage> = [...messages, { role: "user", content: line.value }]
    const answered = yield* Effect.result(turn(conversation, asked, print))
    if (Result.isSuccess(answered)) messages = [...asked, { role: "assistant", content: answered.success }]
    else {
      const message = explainFailure(answered.failure, url, style)
      if (!interactive) return yield* new ChatError({ message })
      yield* print(`\n${style.bold("Error:")} ${message}\n`)
    }
  }
})

/** The sandbox says at `/` that it is one, and everyone knows its key. */
const sandboxKey = (url: string) =>
  HttpClient.get(new URL("/", url), { headers: { accept: "application/json" } }).pipe(
    Effect.flatMap((reply) => Effect.orElseSucceed(reply.json, () => undefined)),
    Effect.mapError((error) => new ChatError({ message: explainFailure(error, url, plain) })),
    Effect.filterOrFail(
      (body) => typeof body === "object" && body !== null && "sandbox" in body && body.sandbox === true,
      () => new ChatError({ message: "no key: give one with --key, or set GATEWAY_API_KEY" })
    ),
    Effect.as(Redacted.make("sandbox-key"))
  )

/** An empty variable is an absent one. */
const environmentKey = Config.option(Config.NonEmptyString("GATEWAY_API_KEY"))

const keyOf = (flag: Option.Option<string>, url: string) =>
  Effect.gen(function* () {
    const given = Option.isSome(flag) ? flag : yield* environmentKey
    return Option.isSome(given) ? Redacted.make(given.value) : yield* sandboxKey(url)
  })

const flags = {
  model: Flag.String("model").pipe(Flag.withDescription("the model ID: claude-sonnet-4-5:il5")),
  url: Flag.String("url").pipe(Flag.withDescription("where the gateway is"), Flag.withDefault("http://127.0.0.1:8080")),
  key: Flag.String("key").pipe(
    Flag.withDescription("the API key; GATEWAY_API_KEY otherwise, and in the sandbox its own"),
    Flag.optional
  )
}

export const chatCommand = Command.make(
  "chat",
  flags,
  Effect.fnUntraced(function* ({ model, url, key }) {
    if (!isModelName(model)) {
      return yield* new ChatError({
        message: `--model: ${JSON.stringify(model)} has no level; write <base_model>:<level>, as in claude-sonnet-4-5:il5`
      })
    }
    if (!URL.canParse(url)) {
      return yield* new ChatError({
        message: `--url: ${JSON.stringify(url)} is not an address such as http://127.0.0.1:8080`
      })
    }
    const client = yield* makeClient({ baseUrl: url, apiKey: yield* keyOf(key, url) })
    const interactive = process.stdin.isTTY === true
    const style = process.stdout.isTTY === true ? coloured : plain
    yield* converse({ client, model, url, interactive, style })
  }, Effect.provide(FetchHttpClient.layer))
).pipe(Command.withDescription("Chat with a model from the terminal; piped lines are asked one by one"))
