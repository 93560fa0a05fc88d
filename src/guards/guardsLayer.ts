/** The guards of the operator's file, read again when it changes, and the one that is built in. */
import { type Duration, Effect, Layer, Option } from "effect"
import { endsIn } from "../identity/certificate.ts"
import { recordGuard } from "../telemetry/metrics.ts"
import { watchFile } from "../watchFile.ts"
import { objectOf } from "../wire/json.ts"
import { readExactObject } from "../wire/parse.ts"
import { inSlices } from "../wire/slices.ts"
import { makeDetectors } from "./detector.ts"
import { type About, type Guard, Guards } from "./Guard.ts"
import { type GuardRead, type GuardSettings, markingsName, readGuards } from "./GuardsFile.ts"
import { isSpill, markingsIn } from "./markings.ts"
import type { PlacedText } from "./places.ts"

/** What a schema lists are values to choose from, which mark nothing. */
const choices: ReadonlySet<string> = new Set(["enum", "const"])

/** Names and texts in JSON, one a line: a marking may stand at the start of a line, and JSON text has no lines. */
const linesOf = (value: object): string => {
  const lines: Array<string> = []
  const queue = [value]
  for (const held of queue) {
    for (const [key, inner] of Object.entries(held)) {
      lines.push(key)
      if (choices.has(key)) lines.push(JSON.stringify(inner))
      else if (typeof inner === "string") lines.push(inner)
      else if (typeof inner === "object" && inner !== null) queue.push(inner)
    }
  }
  return lines.join("\n")
}

/** A text as markings are looked for in it. The JSON text stays, because parsing drops the first of two equal keys. */
const scanned = ({ place, text }: PlacedText): string => {
  const value = place === "arguments" ? readExactObject(text) : undefined
  return value === undefined ? text : `${text}\n${linesOf(value)}`
}

/** Looks for markings above the level of the request. It answers in any case. */
const markingsGuard = (action: "flag" | "block"): Guard => ({
  name: markingsName,
  action,
  when: "both",
  hold: "sentence",
  onFailure: "refuse",
  judge: Effect.fnUntraced(function* ({ about, input, texts, tools = [] }) {
    const startedAt = performance.now()
    const found = new Set<string>()
    for (const { before, text } of [
      ...texts.map((text) => ({ before: text.before, text: scanned(text) })),
      ...tools.map((tool) => ({ before: undefined, text: linesOf(objectOf(tool)) }))
    ]) {
      for (const marking of yield* inSlices(markingsIn(text, before))) {
        if (isSpill(marking, about.level)) found.add(marking)
      }
    }
    recordGuard(markingsName, input, found.size === 0 ? "none" : "blocked", (performance.now() - startedAt) / 1000)
    const category = found.has("classified") ? "classified" : "cui"
    return found.size === 0 ? undefined : { category }
  })
})

type Facts = Pick<About, "caller" | "level" | "surface">

const holdsFor =
  ({ levels, surfaces, teams }: GuardSettings) =>
  ({ caller, level, surface }: Facts): boolean =>
    (levels?.includes(level) ?? true) &&
    (surfaces?.includes(surface) ?? true) &&
    (teams === undefined || (caller?.team !== undefined && teams.includes(caller.team.name)))

export interface GuardsOptions {
  /** `GATEWAY_GUARDS_FILE` */
  readonly file: Option.Option<string>
  /** `GATEWAY_MARKINGS` */
  readonly markings: "off" | "flag" | "block"
  /** Time between two looks at the file; default 2 seconds. */
  readonly poll?: Duration.Input | undefined
}

/** A broken file fails the layer at the start; later it is refused whole, and the guards in force stay. */
export const guardsLayer = ({ file, markings, poll = "2 seconds" }: GuardsOptions) =>
  Layer.effect(
    Guards,
    Effect.gen(function* () {
      const own = markings === "off" ? [] : [{ guard: markingsGuard(markings), holds: () => true }]
      if (Option.isNone(file)) return Guards.of({ of: () => own.map(({ guard }) => guard) })
      const detectorOf = yield* makeDetectors
      const path = file.value
      const build = ({ guards }: { readonly guards: ReadonlyArray<GuardRead> }) => [
        ...own,
        ...guards.map((settings) => ({ guard: detectorOf(settings), holds: holdsFor(settings) }))
      ]
      const initial = yield* readGuards(path)
      let inForce = build(initial)
      yield* watchFile({
        kind: "guards",
        path,
        version: ({ version }) => version,
        digests: ({ digests }) => digests,
        ends: ({ guards }) => ({
          guards: guards.flatMap(({ client }) => endsIn(client?.cert ?? "")).map((end) => [end])
        }),
        read: readGuards(path),
        initial,
        every: poll,
        take: Effect.fnUntraced(function* (read) {
          inForce = build(read)
          yield* Effect.logInfo(`guards read from ${path}`)
        }),
        complaint: (message) => `${message}. The guards in force stay.`
      })
      return Guards.of({ of: (facts) => inForce.filter(({ holds }) => holds(facts)).map(({ guard }) => guard) })
    })
  )
