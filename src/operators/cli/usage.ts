/** `usage`: sums usage records, and checks their chain (docs/operation.md#commands). */
import { Clock, Console, DateTime, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { readBook } from "../../limits/KeyFile.ts"
import { raiseIn } from "../../limits/store.ts"
import { readVerifier } from "../../limits/usageChain.ts"
import { statement } from "../../statements.ts"
import { fail, rephrase } from "../../wire/OperatorError.ts"
import { failExpected, parseGiven, parseItems, parseTime } from "../keys/keyOptions.ts"
import { makeChainChecking } from "../usage/chainCheck.ts"
import { checkFiles, readFiles } from "../usage/readFiles.ts"
import { damageText, formats, showSummary, showVerdict } from "../usage/report.ts"
import { dimensions, isDimension, makeRestoring, makeSumming } from "../usage/summary.ts"
import { fileArgument, optionalFile, optionalText, print, printing, settings } from "./shared.ts"

export const parseBy = parseItems("by", isDimension, dimensions)

/** A date (its beginning, UTC) or a time, as `toISOString` writes it. */
export const parseBound = (option: string) => (text: string) =>
  Option.match(parseTime(text), {
    onNone: () => failExpected(option, "a date such as 2026-11-01 (UTC), or a time such as 2026-11-01T12:00:00Z", text),
    onSome: (time) => Effect.succeed(DateTime.formatIso(time))
  })

/** The files named, else the usage log; all of them are there. */
const filesOf = Effect.fnUntraced(function* (named: ReadonlyArray<string>) {
  if (named.length > 0) return yield* checkFiles(named)
  const { gateway } = yield* settings
  if (gateway.usageLog !== "stdout") return yield* checkFiles([gateway.usageLog])
  return yield* fail(
    "which records? GATEWAY_USAGE_LOG names no file here. Give files (.jsonl, .gz), or - for standard input."
  )
})

/** Names of keys; without a readable key file there are none. */
const keyNames = settings.pipe(
  Effect.flatMap(({ gateway }) => readBook(gateway.keysFile)),
  Effect.map(({ keys }) => keys.map(({ id, name }) => [id, name] as const)),
  Effect.catch(({ message }) => {
    const text = `keys have no names here: ${message}`
    return Effect.as(Console.error(statement("warn", text, `gateway: ${text}`)), [])
  })
)

const files = Argument.variadic(
  fileArgument("usage records: .jsonl, .gz, or - for standard input; what GATEWAY_USAGE_LOG names otherwise")
)

const verify = Command.make(
  "verify",
  {
    files,
    publicKey: optionalFile(
      "public-key",
      "a PEM file: the key of GATEWAY_RECORD_SIGNING_KEY, which must have signed them"
    )
  },
  Effect.fnUntraced(function* ({ publicKey, ...named }) {
    const { files, once } = yield* filesOf(named.files)
    const verifier = yield* rephrase(
      parseGiven(Option.getOrUndefined(publicKey), readVerifier),
      (message) => `--public-key: ${message}`
    )
    const checking = makeChainChecking((file) => once.has(file), verifier)
    // The log's heads first, so that every record can be compared with them. A pipe is read once.
    const again = files.filter((file) => !once.has(file))
    yield* readFiles(again, { line: checking.anchor, damage: () => {}, result: () => {} })
    const verdict = yield* readFiles(files, checking)
    yield* print(showVerdict(verdict))
    if (verdict.breaks > 0) return yield* fail(`the chain of usage records is broken (${verdict.breaks})`)
  })
).pipe(
  Command.withDescription(
    "Check that no usage record was changed, removed or moved; give the gateway's log (JSON) too, to compare"
  )
)

const restore = printing(
  "restore",
  "Rebuild the counts of this month and of today, where a Redis or a state directory was lost",
  { files },
  Effect.fnUntraced(function* (named, gateway) {
    const { files } = yield* filesOf(named.files)
    const { counts, damaged, records } = yield* readFiles(files, makeRestoring(yield* Clock.currentTimeMillis))
    yield* raiseIn(gateway, counts)
    const unread = damaged === 0 ? "" : `; ${damaged} lines are damaged`
    return `${counts.length} counts of this month and of today are now at least what ${records} records say${unread}. None was lowered.`
  })
)

const flags = {
  files,
  by: Flag.String("by").pipe(
    Flag.withDescription(`what to sum by, separated by commas: ${dimensions.join(",")}`),
    Flag.withDefault("key")
  ),
  from: optionalText("from", "records from then on: 2026-11-01 (UTC), or a time"),
  to: optionalText("to", "records before then"),
  format: Flag.Literals("format", formats).pipe(Flag.withDescription("how to print"), Flag.withDefault("table"))
}

export const usageCommand = Command.make(
  "usage",
  flags,
  Effect.fnUntraced(function* ({ format, ...given }) {
    const by = yield* parseBy(given.by)
    const from = yield* parseGiven(given.from, parseBound("from"))
    const to = yield* parseGiven(given.to, parseBound("to"))
    if (from !== undefined && to !== undefined && from >= to) {
      return yield* fail("--from must be before --to, which is not included")
    }
    const { files } = yield* filesOf(given.files)
    const summary = yield* readFiles(files, makeSumming({ by, from, to }))
    const names = by.includes("key") ? yield* keyNames : []
    yield* print(showSummary(summary, format, new Map([...summary.keyNames, ...names])))
    if (format === "csv" && summary.lines.damaged > 0) yield* Console.error(damageText(summary))
  })
).pipe(
  Command.withDescription("Sum usage records: who used what, how much, how fast, and how it ended"),
  Command.withSubcommands([verify, restore])
)
