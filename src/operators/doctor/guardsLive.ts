/** `--live`: each guard is asked about one harmless text. */
import { Duration, Effect } from "effect"
import { levels } from "../../catalog/Level.ts"
import { makeDetectors } from "../../guards/detector.ts"
import { type Asking, type Guard, GuardFailure } from "../../guards/Guard.ts"
import { type GuardSettings, levelsOf, readGuards } from "../../guards/GuardsFile.ts"
import { type GatewaySettings, Settings } from "../../Settings.ts"
import { steadyMillis } from "../../wire/steady.ts"
import { type Check, type Found, fail, makeCheck, ok, warn } from "./Finding.ts"

const contract = "It must answer as docs/guards.md#what-is-sent says."
const fixes: Readonly<Record<GuardFailure["why"], readonly [what: string, fix: string]>> = {
  boundary: ["is asked at no level", "Declare its boundary. docs/guards.md#the-file"],
  timeout: ["did not answer within its deadline", "Make it quicker, or raise its deadline (60 seconds at most)."],
  unreachable: [
    "cannot be reached",
    "Check its address, DNS, firewall and GATEWAY_HTTPS_PROXY; name a private CA in NODE_EXTRA_CA_CERTS, and in the file the certificate that it asks for."
  ],
  status: ["answered another status than 200", `Check its address and log. ${contract}`],
  reply: ["answered what is not of the contract", contract],
  texts: ["answered another number of texts", contract]
}

const asking = (level: Asking["about"]["level"], { surfaces, when }: GuardSettings): Asking => ({
  about: {
    id: crypto.randomUUID(),
    surface: surfaces?.[0] ?? "chat",
    level,
    caller: undefined,
    images: 0,
    files: 0,
    span: undefined,
    take: () => true
  },
  input: when === "after" ? "response" : "request",
  texts: [{ place: when === "after" ? "assistant" : "user", text: "Hello" }]
})

const ask = Effect.fnUntraced(function* (settings: GuardSettings, { judge }: Guard): Effect.fn.Return<Found> {
  const { name, url } = settings
  const held = levelsOf(settings)
  const level = (settings.levels ?? levels).find((level) => held.has(level)) ?? "il2"
  const startedAt = yield* steadyMillis
  const time = Effect.map(steadyMillis, (now) => `${now - startedAt} ms`)
  return yield* Effect.matchEffect(judge(asking(level, settings)), {
    onSuccess: (verdict) =>
      Effect.map(time, (time) =>
        verdict === undefined
          ? ok(`${name} at ${url} answered in ${time}`)
          : warn(
              `${name} at ${url} answered in ${time}, and finds ${verdict.category} in the word Hello`,
              "It would find that in most requests: check what it looks for."
            )
      ),
    onFailure: (error) =>
      Effect.map(time, (time) => {
        const [what, fix] = error instanceof GuardFailure ? fixes[error.why] : [error.message, contract]
        return fail(`${name} at ${url} ${what} (${time})`, fix)
      })
  })
})

export const guardsLiveCheck = (settings: GatewaySettings, file: string): Check =>
  makeCheck(
    "live guards",
    Effect.gen(function* () {
      const { guards } = yield* readGuards(file)
      const detectorOf = yield* makeDetectors
      return yield* Effect.forEach(guards, (guard) => Effect.flatMap(detectorOf(guard), (made) => ask(guard, made)), {
        concurrency: 8
      })
    }).pipe(Effect.scoped, Effect.provideService(Settings, settings)),
    Duration.minutes(2)
  )
