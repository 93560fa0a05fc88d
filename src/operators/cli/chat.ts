/**
 * `chat`: a conversation with a model from the terminal, through the typed client (docs/operation.md#commands). Lines of commands
 * are not messages for the model.
 */
import { styleText } from "node:util"
import { Config, Effect, Option, Queue, Redacted, Schema, Stream, Terminal } from "effect"
import { Command, Flag } from "effect/cli"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { chatAccumulator } from "../../client/accumulate.ts"
import {
  ApiError,
  type ChatCompletion,
  type ChatMessage,
  type Client,
  type GatewayHeaders,
  isModelName,
  type ModelName,
  makeClient,
  StreamError,
  usageNotice
} from "../../EffectClient.ts"
import { codeOf } from "../../limits/files.ts"
import { isHeaderText } from "../../settings/fields.ts"
import { nearest } from "../../wire/nearest.ts"
import { fail, OperatorError } from "../../wire/OperatorError.ts"
import { table } from "../table.ts"

/** What is about an answer. Nothing is coloured off a terminal. */
const dim = (text: string): string => styleText("dim", text)
const bold = (text: string): string => styleText("bold", text)

/** What a model or a server says, without the control characters that a terminal would obey. */
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")

export const greeting = (model: string, url: string, notice: string = usageNotice): string =>
  `${bold("Usage notice.")} ${printable(notice)}\n${dim(`${model} at ${url}. /help lists the commands; an empty line or Ctrl-D ends the chat.`)}\n`

const finishes: Readonly<Record<string, string>> = {
  length: "The answer stopped at its token limit.",
  content_filter: "The model's safety system ended the answer.",
  tool_calls: "The model wants to call a tool, and this conversation has none."
}

/** Below an answer: who served it and what it took, then what needs attention. */
export const footer = (answer: ChatCompletion | undefined, headers: GatewayHeaders): string => {
  const { choices: [choice] = [], usage, x_gateway_governance: governance } = answer ?? {}
  const { requestId, servedBy, servedLevel } = headers
  const served = [servedBy, servedLevel].filter((part) => part !== undefined).join(" at ")
  const about = [
    served && `served by ${served}`,
    usage?.total_tokens && `${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out`,
    requestId && `request ${requestId}`
  ].filter(Boolean)
  const attention = [
    finishes[choice?.finish_reason ?? ""] ?? [],
    ...(governance?.flags ?? []).map(
      ({ tool_name, destinations }) => `Flagged: the call of ${tool_name} names ${destinations.join(", ")}.`
    )
  ].flat()
  return [dim(printable(about.join(" · "))), ...attention.map((line) => bold(printable(line)))].join("\n")
}

const nextStep = ({ status, type, retryAfter }: ApiError): string => {
  if (type === "authentication_error") return "Give a key with --key, or set GATEWAY_API_KEY."
  if (type === "permission_error") return "Choose a model that the key allows, or ask the operator."
  if (status === 429) return retryAfter === undefined ? "Try again later." : `Try again in ${retryAfter} s.`
  return status >= 500
    ? "Try again; if it stays, give the operator the request's ID."
    : "Change the request and ask again."
}

/** Why no connection came about, by the system's code or that of TLS. */
const explainConnection = (cause: unknown, url: string): readonly [message: string, next: string] => {
  const code = codeOf(cause)
  const why = code === undefined ? "" : ` (${code})`
  return /CERT|SSL|TLS|VERIFY/.test(why)
    ? [`there is no TLS connection to ${url}${why}`, "Check --url; NODE_EXTRA_CA_CERTS names an authority of your own."]
    : [`no gateway answers at ${url}${why}`, "Start one with npm start, or name another with --url."]
}

export const explainFailure = (error: unknown, url: string): string => {
  const [message, next, id] =
    error instanceof ApiError
      ? [error.message, nextStep(error), error.requestId]
      : error instanceof StreamError
        ? [error.message, "The answer above may be incomplete; ask again.", error.requestId]
        : HttpClientError.isHttpClientError(error) && error.reason._tag === "TransportError"
          ? explainConnection(error.reason.cause, url)
          : [`what answers at ${url} is not this gateway, or another version of it`, "Check --url."]
  return `${printable(message)}${id === undefined ? "" : dim(` (request ${printable(id)})`)}\n${next}`
}

const commands: Readonly<Record<string, readonly [argument: string, description: string]>> = {
  help: ["", "shows this list"],
  model: ["[ID]", "shows the model and the IDs that the key may use, or goes on with another"],
  system: ["[TEXT]", "sets the system message, or removes it"],
  clear: ["", "forgets the conversation; the system message stays"],
  exit: ["", "ends the chat, as Ctrl-D does"]
}

/** A slash and a word of letters is a command; `/etc/hosts` and ` /help` are messages. */
const commandIn = (text: string) => {
  const [, name, argument = ""] = /^\/([A-Za-z]+)(?:\s+(.*))?$/s.exec(text.trimEnd()) ?? []
  return name === undefined ? undefined : { name, argument: argument.trim() }
}

const helpText = `${table(
  Object.entries(commands).map(([name, [argument, description]]) => [`  /${name} ${argument}`, description])
)}  Ctrl-C ends an answer that is being written; at the prompt it ends the chat. A message that begins with such a word
  needs a space before it.`

const unknownCommand = (name: string): string => {
  const suggestion = nearest(name, Object.keys(commands))
  return `There is no /${name}${suggestion === undefined ? "." : `; is /${suggestion} meant?`} /help lists the commands. To send it to the model, put a space before it.`
}

/** Why the chat cannot go on with an ID that is not available. */
const unknownModel = (id: string, available: ReadonlyArray<string>): string => {
  const sameBase = available.filter((other) => other.startsWith(`${id.split(":", 1)[0]}:`))
  const near = sameBase.length > 0 ? sameBase : [nearest(id, available)].filter((other) => other !== undefined)
  return `${JSON.stringify(id)} is no model ID that this key may use${near.length === 0 ? "; /model lists them" : `; near: ${near.join(", ")}`}`
}

interface Conversation {
  readonly client: Client
  readonly model: ModelName
  readonly url: string
  readonly notice?: string | undefined
  /** A person at a terminal is greeted and prompted, and an error does not end the conversation. */
  readonly interactive: boolean
}

/** Waits for Ctrl-C. Keys are read one by one meanwhile, so that Ctrl-C reaches neither npm nor its shell, which would exit. */
const interrupted = Effect.scoped(
  Effect.flatMap(Terminal.Terminal, ({ readInput }) => Effect.flatMap(readInput, Queue.collect))
)

/**
 * Asks line by line until the input ends or, at a terminal, a line is empty. A person goes on after a failure, without the turn
 * that failed; piped lines end there.
 */
export const converse = Effect.fnUntraced(function* ({ client, interactive, notice, url, ...given }: Conversation) {
  const terminal = yield* Terminal.Terminal
  const print = (text: string) => Effect.orDie(terminal.display(text))
  const reply = (text: string) => print(`${dim(printable(text))}\n`)
  /** Says why a line cannot be obeyed; piped lines end there, since those that follow rely on it. */
  const refuse: (text: string) => Effect.Effect<void, OperatorError> = interactive
    ? reply
    : (text) => fail(printable(text))
  const explain = (error: unknown): Effect.Effect<void, OperatorError> => {
    if (error instanceof OperatorError) return Effect.fail(error)
    const message = explainFailure(error, url)
    return interactive ? print(`\n${bold("Error:")} ${message}\n`) : fail(message)
  }
  // What the next question is sent with.
  let { model } = given
  let system: string | undefined
  let messages: ReadonlyArray<ChatMessage> = []

  /** One question and its streamed answer, of which what has come is kept when a person ends it. */
  const ask = Effect.fnUntraced(function* (question: string) {
    const asked: ReadonlyArray<ChatMessage> = [...messages, { role: "user", content: question }]
    const answer = chatAccumulator()
    const answered = Effect.gen(function* () {
      const { body, headers } = yield* client.chat.completions({
        model,
        messages: system === undefined ? asked : [{ role: "system", content: system }, ...asked],
        stream: true,
        stream_options: { include_usage: true }
      })
      yield* Stream.runForEach(body, (chunk) => {
        answer.add(chunk)
        return print(printable(answer.textOf(chunk)))
      })
      yield* print(`\n${footer(answer.final(), headers)}\n`)
    })
    const stopped = Effect.andThen(interrupted, print(`\n${dim("Stopped.")}\n`))
    yield* interactive ? Effect.raceFirst(answered, stopped) : answered
    const content = answer.final()?.choices[0]?.message.content
    if (content) messages = [...asked, { role: "assistant", content }]
  }, Effect.catch(explain))

  const obey = Effect.fnUntraced(function* (name: string, argument: string) {
    switch (name) {
      case "clear":
        messages = []
        return yield* reply("The conversation is forgotten.")
      case "system":
        system = argument === "" ? undefined : argument
        return yield* reply(argument === "" ? "There is no system message now." : "The system message is set.")
      case "model": {
        const { body } = yield* client.models.list()
        const available = body.data.map(({ id }) => id).filter(isModelName)
        if (argument === "") return yield* reply(`${model} answers. The key may use:\n  ${available.join("\n  ")}`)
        const chosen = available.find((id) => id === argument)
        if (chosen === undefined) return yield* refuse(unknownModel(argument, available))
        model = chosen
        return yield* reply(`${chosen} answers from now on.`)
      }
      case "help":
        return yield* reply(helpText)
      default:
        return yield* refuse(unknownCommand(name))
    }
  }, Effect.catch(explain))

  if (interactive) yield* print(greeting(model, url, notice))
  while (true) {
    if (interactive) yield* print("\n> ")
    const typed = yield* Effect.option(terminal.readLine)
    if (Option.isNone(typed)) return
    const text = printable(typed.value)
    if (text.trim() === "") {
      if (interactive) return
      continue
    }
    const { argument = "", name } = commandIn(text) ?? {}
    if (name === "exit") return
    yield* name === undefined ? ask(text) : obey(name, argument)
  }
})

/** What the gateway says of itself at `/`. */
const Welcome = Schema.Struct({ notice: Schema.optional(Schema.String), sandbox: Schema.optional(Schema.Boolean) })
const welcomeOf = (url: string) =>
  HttpClient.get(`${url.replace(/\/+$/, "")}/`, { headers: { accept: "application/json" } }).pipe(
    Effect.mapError((error) => new OperatorError({ message: explainFailure(error, url) })),
    Effect.flatMap((reply) => Effect.orElseSucceed(HttpClientResponse.schemaBodyJson(Welcome)(reply), () => ({})))
  )

/** Without credentials, a query or a fragment, to which no path can be added. */
const isAddress = (text: string): boolean => {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  return url !== null && `${url.username}${url.password}${url.search}${url.hash}` === ""
}

const flags = {
  model: Flag.String("model").pipe(Flag.withDescription("the model ID: claude-sonnet-4-5:il5")),
  url: Flag.String("url").pipe(Flag.withDescription("where the gateway is"), Flag.withDefault("http://127.0.0.1:8080")),
  key: Flag.String("key").pipe(
    Flag.withDescription("the API key; GATEWAY_API_KEY otherwise, and in the sandbox its own"),
    Flag.withFallbackConfig(Config.NonEmptyString("GATEWAY_API_KEY")),
    Flag.withDefault(undefined)
  )
}

export const chatCommand = Command.make(
  "chat",
  flags,
  Effect.fnUntraced(function* ({ model, url, key }) {
    if (!isModelName(model)) {
      const example = "write <base_model>:<level>, as in claude-sonnet-4-5:il5"
      return yield* fail(`--model: ${JSON.stringify(model)} does not end in a level; ${example}`)
    }
    if (!isAddress(url)) {
      return yield* fail(`--url: ${JSON.stringify(url)} is not an address such as http://127.0.0.1:8080`)
    }
    const interactive = process.stdin.isTTY === true
    // Piped lines are shown no notice.
    const { notice, sandbox }: typeof Welcome.Type = interactive || key === undefined ? yield* welcomeOf(url) : {}
    // The sandbox's key is public.
    const secret = key ?? (sandbox === true ? "sandbox-key" : undefined)
    if (secret === undefined) return yield* fail("no key: give one with --key, or set GATEWAY_API_KEY")
    if (!isHeaderText(secret)) return yield* fail("the key is no printable ASCII without blanks, as a header takes it")
    const apiKey = Redacted.make(secret)
    const client = yield* makeClient({ baseUrl: url, apiKey })
    yield* converse({ client, model, url, notice, interactive })
  }, Effect.provide(FetchHttpClient.layer))
).pipe(Command.withDescription("Chat with a model from the terminal; piped lines are asked or obeyed one by one"))
