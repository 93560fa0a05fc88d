/** `chat`: a conversation with a model from the terminal, through the typed client (docs/operation.md#commands). */
import { Config, Data, Effect, Option, Pull, Queue, Redacted, Result, Stream, Terminal } from "effect"
import { Command, Flag } from "effect/cli"
import { FetchHttpClient, HttpClient } from "effect/http"
import { type ChatMessage, type Client, isModelName, type ModelName, makeClient } from "../EffectClient.ts"
import { type CommandName, helpText, readLine, refuseModel, unknownText } from "./chatCommands.ts"
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
  textOf
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

/** What the next question is asked with. */
interface State {
  readonly model: ModelName
  readonly system: string | undefined
  readonly messages: ReadonlyArray<ChatMessage>
}

type Print = (text: string) => Effect.Effect<void>

/** Waits for Ctrl-C. Keys are read one by one meanwhile, so that Ctrl-C reaches neither npm nor its shell, which would exit. */
const interrupted = Effect.gen(function* () {
  const terminal = yield* Terminal.Terminal
  const keys = yield* terminal.readInput
  return yield* Queue.take(keys).pipe(
    Effect.forever,
    Pull.catchDone(() => Effect.void)
  )
}).pipe(Effect.scoped)

/** One question and its streamed answer. What has come is kept when a person ends it. */
const turn = Effect.fnUntraced(function* (
  { client, interactive, style }: Conversation,
  { model, system, messages }: State,
  print: Print
) {
  let answer = emptyAnswer
  const answered = Effect.gen(function* () {
    const { body, headers } = yield* client.chat.completions({
      model,
      messages: system === undefined ? messages : [{ role: "system", content: system }, ...messages],
      stream: true,
      stream_options: { include_usage: true }
    })
    yield* Stream.runForEach(body, (chunk) => {
      answer = addChunk(answer, chunk)
      return print(printable(textOf(chunk)))
    })
    yield* print(`\n${footer(answer, headers, style)}\n`)
  })
  if (interactive) {
    const stopped = Effect.andThen(
      interrupted,
      Effect.suspend(() => print(`\n${style.dim("Stopped.")}\n`))
    )
    yield* Effect.raceFirst(answered, stopped)
  } else yield* answered
  return answer.text
})

/** What a command does to the state; undefined ends the chat. */
const obey = Effect.fnUntraced(function* (
  { client, style }: Conversation,
  state: State,
  { name, argument }: { readonly name: CommandName; readonly argument: string },
  print: Print
) {
  const tell = (text: string) => print(`${style.dim(printable(text))}\n`)
  if (name === "exit") return undefined
  if (name === "clear") {
    yield* tell("The conversation is forgotten.")
    return { ...state, messages: [] }
  }
  if (name === "system") {
    yield* tell(argument === "" ? "There is no system message now." : "The system message is set.")
    return { ...state, system: argument === "" ? undefined : argument }
  }
  if (name === "model") {
    const { body } = yield* client.models.list()
    const available = body.data.map(({ id }) => id)
    if (argument === "") yield* tell(`${state.model} is asked. The key may use:\n  ${available.join("\n  ")}`)
    else {
      const refusal = refuseModel(argument, available)
      if (refusal === undefined && isModelName(argument)) {
        yield* tell(`${argument} is asked from now on.`)
        return { ...state, model: argument }
      }
      yield* tell(refusal ?? `${argument} has no level`)
    }
    return state
  }
  yield* tell(helpText)
  return state
})

/**
 * Asks line by line until the input ends or, at a terminal, a line is empty. A turn that failed is forgotten. Commands are for
 * a person: a piped line is always a question.
 */
export const converse = Effect.fnUntraced(function* (conversation: Conversation) {
  const { model, url, interactive, style } = conversation
  const terminal = yield* Terminal.Terminal
  const print = (text: string) => Effect.orDie(terminal.display(text))
  if (interactive) yield* print(greeting(model, url, style))
  let state: State = { model, system: undefined, messages: [] }

  const ask = Effect.fnUntraced(function* (text: string) {
    const asked = { ...state, messages: [...state.messages, { role: "user", content: text } as const] }
    const answer = yield* turn(conversation, asked, print)
    if (answer !== "") state = { ...asked, messages: [...asked.messages, { role: "assistant", content: answer }] }
  })

  while (true) {
    if (interactive) yield* print("\n> ")
    const typed = yield* Effect.option(terminal.readLine)
    if (Option.isNone(typed)) return
    const text = printable(typed.value)
    if (text.trim() === "") {
      if (interactive) return
      continue
    }
    const line = interactive ? readLine(text) : ({ _tag: "Message", text } as const)
    if (line._tag === "Unknown") {
      yield* print(`${style.dim(unknownText(line.name))}\n`)
      continue
    }
    const done = yield* Effect.result(
      line._tag === "Message"
        ? Effect.as(ask(line.text), true)
        : Effect.map(obey(conversation, state, line, print), (next) => {
            if (next !== undefined) state = next
            return next !== undefined
          })
    )
    if (Result.isFailure(done)) {
      const message = explainFailure(done.failure, url, style)
      if (!interactive) return yield* new ChatError({ message })
      yield* print(`\n${style.bold("Error:")} ${message}\n`)
    } else if (!done.success) return
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
