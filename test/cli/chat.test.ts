import { once } from "node:events"
import { createServer } from "node:http"
import { stripVTControlCharacters } from "node:util"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { type Cause, ConfigProvider, Effect, Queue, Terminal } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { makeClient } from "../../src/EffectClient.ts"
import { chatCommand, converse } from "../../src/operators/cli/chat.ts"
import { gateway } from "../support/gateway.ts"

const until = (holds: () => boolean) =>
  Effect.void.pipe(Effect.delay("2 millis"), Effect.repeat({ until: () => holds() }))

/** At a terminal that shows this, Ctrl-C is pressed once. */
const stopAt = "wordc"

/** A terminal at which these lines are typed; what it shows is kept. */
const typed = (...lines: ReadonlyArray<string>) => {
  const rest = [...lines]
  let shown = ""
  let pressed = false
  const terminal = Terminal.make({
    columns: Effect.succeed(80),
    rows: Effect.succeed(24),
    size: Effect.die("not asked for"),
    readInput: Effect.tap(Queue.make<Terminal.UserInput, Cause.Done>(), (keys) =>
      Effect.forkScoped(
        until(() => !pressed && shown.includes(stopAt)).pipe(
          Effect.andThen(
            Effect.suspend(() => {
              pressed = true
              return Queue.end(keys)
            })
          )
        )
      )
    ),
    readLine: Effect.suspend(() => {
      const line = rest.shift()
      return line === undefined ? Effect.fail(new Terminal.QuitError({})) : Effect.succeed(line)
    }),
    display: (text) =>
      Effect.sync(() => {
        shown += text
      })
  })
  return { terminal, shown: () => stripVTControlCharacters(shown) }
}

const talk = (interactive: boolean, ...lines: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { url, records } = yield* gateway(lines.some((line) => line.includes("events=")) ? { pace: 1 } : {})
    const client = yield* makeClient({ baseUrl: url, apiKey: "sandbox-key", retries: 0 }).pipe(
      Effect.provide(FetchHttpClient.layer)
    )
    const { terminal, shown } = typed(...lines)
    const result = yield* converse({ client, model: "claude-sonnet-4-5:il5", url, interactive }).pipe(
      Effect.provideService(Terminal.Terminal, terminal),
      Effect.result
    )
    return { shown: shown(), result, records }
  })

const failure = ({ result }: { readonly result: { readonly _tag: string; readonly failure?: unknown } }) =>
  String(Object(result.failure).message)

describe("chat", () => {
  it.live("streams answers, remembers the turns, and names the boundary that served them", () =>
    Effect.gen(function* () {
      const { shown, result } = yield* talk(true, "[sandbox: text=First answer.]", "And now?", "")
      assert.strictEqual(result._tag, "Success")
      assert.include(shown, "Usage notice.")
      assert.match(
        shown,
        /> First answer\.\nserved by sandbox-bedrock\/us-gov-west-1 at il5 · \d+ tokens in, \d+ out · request/
      )
      assert.include(shown, "This is turn 2")
    })
  )

  it.live("goes on after an error, without the turn that failed", () =>
    Effect.gen(function* () {
      const { shown } = yield* talk(true, "[sandbox: status=500]", "Hello again", "")
      assert.match(shown, /Error: .*\(request [0-9a-f-]{36}\)\nTry again/)
      assert.notInclude(shown, "This is turn 2")
      assert.include(shown, "Hello again")
    })
  )

  it.live("asks piped lines one by one, and fails when one does", () =>
    Effect.gen(function* () {
      const good = yield* talk(false, "[sandbox: text=One.]", "", "[sandbox: text=Two.]")
      assert.match(good.shown, /^One\.\n.*\nTwo\.\n.*\n$/)
      const bad = yield* talk(false, "[sandbox: status=500]", "[sandbox: text=Two.]")
      assert.strictEqual(bad.result._tag, "Failure")
      assert.notInclude(bad.shown, "Two.")
    })
  )

  it.live("ends the answer, not itself, when Ctrl-C is pressed, and goes on with the part that came", () =>
    Effect.gen(function* () {
      const { shown, result, records } = yield* talk(true, "[sandbox: events=5000]", "And now?", "")
      assert.strictEqual(result._tag, "Success")
      assert.match(shown, /worda wordb wordc [^>]*\nStopped\.\n\n> .*This is turn 2/s)
      yield* until(() => records().length === 2)
      assert.sameMembers(
        records().map(({ outcome }) => outcome),
        ["cancelled", "ok"]
      )
    })
  )

  it.live("runs its commands at a terminal", () =>
    Effect.gen(function* () {
      const { shown } = yield* talk(
        true,
        ...["/help", "/modle", "/model", "/model gpt-5.1:il6", "/model gpt-5.1:il5", "/system Be brief.", "One"],
        ...["Two", "/clear", "Three", "/system", "/exit", "Four"]
      )
      const replies = shown.split("\n> ")
      const about = (n: number, pattern: RegExp) => assert.match(replies[n] ?? "", pattern)
      assert.strictEqual(replies.length, 13)
      about(1, /\/clear +forgets the conversation/)
      about(2, /no \/modle; is \/model meant\?/)
      about(3, /^claude-sonnet-4-5:il5 answers\. .*\n {2}gpt-5\.1:il5\n/s)
      about(4, /"gpt-5\.1:il6" is no model ID .*; near: .*gpt-5\.1:il5/)
      about(5, /gpt-5\.1:il5 answers from now on/)
      about(6, /system message is set/)
      about(7, /served by sandbox-azure\/usgov at il5/)
      about(8, /This is turn 2/)
      about(9, /forgotten/)
      assert.notInclude(replies[10], "This is turn")
      about(11, /no system message now/)
    })
  )

  it.effect("shows an ID of a server's without control characters, also where it ends there", () =>
    Effect.gen(function* () {
      const models = { list: () => Effect.succeed({ body: { data: [{ id: "other:\u009b2J:il5" }] } }) }
      const { terminal } = typed("/model other:il5")
      const ended = converse({ client: { models } as never, model: "m:il5", url: "http://g", interactive: false })
      const error = yield* Effect.flip(Effect.provideService(ended, Terminal.Terminal, terminal))
      assert.match(error.message, /near: other:2J:il5$/)
    })
  )

  it.live("runs commands that are piped, too, and ends at one that it cannot obey", () =>
    Effect.gen(function* () {
      const { shown, result } = yield* talk(
        false,
        ...["[sandbox: text=One.]", "/model gpt-5.1:il5", " /exit says what?", "/exit", "[sandbox: text=Never.]"]
      )
      assert.strictEqual(result._tag, "Success")
      assert.match(shown, /^One\.\n.*sandbox-bedrock.*\ngpt-5\.1:il5 answers.*\n.*\/exit says what.*\n.*sandbox-azure/)
      assert.notInclude(shown, "Never.")
      for (const line of ["/modle gpt-5.1:il5", "/model gpt-5.1:il6"]) {
        const wrong = yield* talk(false, line, "[sandbox: text=Never.]")
        assert.match(failure(wrong), /is \/model meant\?|near: .*gpt-5\.1:il5/)
        assert.notInclude(wrong.shown, "Never.")
      }
    })
  )

  const run = (environment: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) => {
    const { terminal, shown } = typed("[sandbox: text=Yes.]")
    return Command.runWith(chatCommand, { version: "0" })(args).pipe(
      Effect.provideService(Terminal.Terminal, terminal),
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(environment))),
      Effect.provide(NodeServices.layer),
      Effect.result,
      Effect.map((result) => ({ result, shown: shown() }))
    )
  }
  it.live("takes the sandbox's key where there is a sandbox, and only there", () =>
    Effect.gen(function* () {
      const sandbox = yield* gateway({ docs: true })
      assert.include((yield* run({}, "--model", "gpt-5.1:il5", "--url", sandbox.url)).shown, "Yes.")
      const other = yield* gateway()
      assert.match(failure(yield* run({}, "--model", "gpt-5.1:il5", "--url", other.url)), /no key/)
      const given = yield* run({ GATEWAY_API_KEY: "sandbox-key" }, "--model", "gpt-5.1:il5", "--url", other.url)
      assert.include(given.shown, "Yes.")
      const wrong = yield* run({ GATEWAY_API_KEY: "x" }, "--model", "gpt-5.1:il5", "--url", other.url)
      assert.match(failure(wrong), /--key/)
    })
  )

  it.live("asks all of a gateway that is below a path of its address", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const server = createServer((request, response) => {
        asked.push(request.url ?? "")
        response.writeHead(200, { "content-type": "application/json" }).end('{"sandbox":true}')
      })
      yield* Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening"))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const { port } = Object(server.address())
      yield* run({}, "--model", "gpt-5.1:il5", "--url", `http://127.0.0.1:${port}/models`)
      assert.deepStrictEqual(asked, ["/models/", "/models/v1/chat/completions"])
    })
  )

  it.live("explains what is wrong with its options", () =>
    Effect.gen(function* () {
      for (const model of ["gpt-5.1", "gpt-5.1:il9"]) {
        assert.match(failure(yield* run({}, "--model", model)), /does not end in a level/)
      }
      for (const url of ["nowhere", "localhost:8080", "http://a:b@host", "http://host/?a=b", "http://host/#a"]) {
        assert.match(failure(yield* run({}, "--model", "gpt-5.1:il5", "--url", url)), /is not an address/)
      }
      const closed = "http://127.0.0.1:1"
      assert.match(failure(yield* run({}, "--model", "gpt-5.1:il5", "--url", closed)), /no gateway answers/)
      for (const key of ["", "a\nb", "ключ"]) {
        const failed = failure(yield* run({}, "--model", "gpt-5.1:il5", "--url", closed, "--key", key))
        assert.strictEqual(failed, "the key is no printable ASCII without blanks, as a header takes it")
      }
    })
  )
})
