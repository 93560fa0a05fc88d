/** `usage`: sums usage records, and checks their chain (docs/operation.md#commands). */
import { Console, DateTime, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { FileError } from "../access/files.ts"
import { readKeys } from "../access/KeyFile.ts"
import { environment, load } from "../Settings.ts"
import { makeChainChecking } from "../usage/chainCheck.ts"
import { checkFiles, readFiles } from "../usage/readFiles.ts"
import { damageText, formats, type KeyNames, showSummary, showVerdict } from "../usage/report.ts"
import { type Dimension, dimensions, isDimension, makeSumming } from "../usage/summary.ts"

const fail = (message: string) => Effect.fail(new FileError({ message }))

/** Dimensions, as `--by` names them. */
export const parseBy = (text: string): Effect.Effect<ReadonlyArray<Dimension>, FileError> =>
  Effect.forEach(
    [...new Set(text.split(",").map((item) => item.trim()))],
    (item): Effect.Effect<Dimension, FileError> =>
      isDimension(item)
        ? Effect.succeed(item)
        : fail(`--by: ${JSON.stringify(item)} is none of ${dimensions.join(", ")}; several are separated by commas`)
  )

const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

/** A date (its beginning, UTC) or a time, as `toISOString` writes it. */
export const parseTime = (option: string, text: string): Effect.Effect<string, FileError> => {
  // Date rolls 2027-02-31 over into March, so what it read is compared with what was written.
  const time = Option.filter(
    isoTime.test(text) ? DateTime.make(text) : Option.none(),
    (time) => text.length > 10 || DateTime.formatIsoDateUtc(time) === text
  )
  return Option.match(time, {
    onNone: () => fail(`--${option}: expected a date such as 2026-11-01 (UTC), or a time such as 2026-11-01T12:00:00Z`),
    onSome: (time) => Effect.succeed(DateTime.formatIso(time))
  })
}

const parseGiven = <A, B, E>(value: Option.Option<A>, parse: (value: A) => Effect.Effect<B, E>) =>
  Option.match(value, { onNone: () => Effect.undefined, onSome: parse })

const settings = Effect.suspend(() => load(environment()))

/** What was named, else the usage log. */
const filesOf = Effect.fnUntraced(function* (named: ReadonlyArray<string>) {
  if (named.length > 0) return named
  const { gateway } = yield* settings
  if (gateway.usageLog !== "stdout") return [gateway.usageLog]
  return yield* fail(
    "which records? GATEWAY_USAGE_LOG names no file here. Give files (.jsonl, .gz), or - for standard input: " +
      "npm run gateway -- usage usage.jsonl"
  )
})

/** Names of keys; a key file that is not there or broken is no reason to sum nothing. */
const keyNames = settings.pipe(
  Effect.flatMap(({ gateway }) => readKeys(gateway.keysFile)),
  Effect.map((keys): KeyNames => new Map(keys.map(({ id, name }) => [id, name]))),
  Effect.catch((error) =>
    Effect.as(Console.error(`gateway: keys have no names here: ${error.message}`), new Map<string, string>())
  )
)

/** A line on a terminal that shows progress, after the first second. */
const makeProgress = (size: number | undefined, records: () => number) => {
  if (process.stderr.isTTY !== true) return { show: () => {}, clear: Effect.void }
  const startedAt = performance.now()
  let next = startedAt + 1000
  let shown = false
  return {
    show: (bytes: number) => {
      const now = performance.now()
      if (now < next) return
      next = now + 250
      shown = true
      const share = size === undefined || size === 0 ? "" : `, ${Math.min(100, Math.floor((100 * bytes) / size))} %`
      const rate = Math.round((1000 * records()) / (now - startedAt))
      process.stderr.write(`\r\u001b[K${records()} records${share}, ${rate} a second`)
    },
    clear: Effect.sync(() => void (shown && process.stderr.write("\r\u001b[K")))
  }
}

const filesArgument = Argument.String("FILE").pipe(
  Argument.withDescription(
    "usage records: .jsonl, .gz, or - for standard input; what GATEWAY_USAGE_LOG names otherwise"
  ),
  Argument.variadic()
)

class ChainBroken extends Schema.TaggedError<ChainBroken>()("ChainBroken", { message: Schema.String }) {}

const verify = Command.make(
  "verify",
  { files: filesArgument },
  Effect.fnUntraced(function* ({ files: named }) {
    const { files, once, size } = yield* checkFiles(yield* filesOf(named))
    const checking = makeChainChecking((file) => once.has(file))
    const progress = makeProgress(size === undefined ? undefined : 2 * size, checking.records)
    const work = Effect.gen(function* () {
      // The log's heads first, so that every record can be compared with them. A pipe is read once.
      let before = 0
      yield* readFiles(
        files.filter((file) => !once.has(file)),
        {
          line: checking.anchor,
          damage: () => {},
          progress: (bytes) => {
            before = bytes
            progress.show(bytes)
          }
        }
      )
      yield* readFiles(files, {
        line: checking.add,
        damage: checking.damage,
        progress: (bytes) => progress.show(before + bytes)
      })
    })
    yield* Effect.ensuring(work, progress.clear)
    const verdict = checking.result()
    yield* Console.log(showVerdict(verdict).trimEnd())
    if (verdict.breaks > 0) {
      return yield* new ChainBroken({ message: `the chain of usage records is broken (${verdict.breaks})` })
    }
  })
).pipe(
  Command.withDescription(
    "Check that no usage record was changed, removed or moved; give the gateway's log (JSON) too, to compare"
  )
)

const flags = {
  files: filesArgument,
  by: Flag.String("by").pipe(
    Flag.withDescription(`what to sum by, separated by commas: ${dimensions.join(",")}`),
    Flag.withDefault("key")
  ),
  from: Flag.String("from").pipe(
    Flag.withDescription("records from then on: 2026-11-01 (UTC), or a time"),
    Flag.optional
  ),
  to: Flag.String("to").pipe(Flag.withDescription("records before then"), Flag.optional),
  format: Flag.Literals("format", formats).pipe(Flag.withDescription("how to print"), Flag.withDefault("table"))
}

export const usageCommand = Command.make(
  "usage",
  flags,
  Effect.fnUntraced(function* ({ files: named, by, from, to, format }) {
    const dimensions = yield* parseBy(by)
    const start = yield* parseGiven(from, (text) => parseTime("from", text))
    const end = yield* parseGiven(to, (text) => parseTime("to", text))
    if (start !== undefined && end !== undefined && start >= end) {
      return yield* fail("--from must be before --to, which is not included")
    }
    const { files, size } = yield* checkFiles(yield* filesOf(named))
    const summing = makeSumming({ by: dimensions, from: start, to: end })
    const progress = makeProgress(size, summing.records)
    yield* Effect.ensuring(
      readFiles(files, { line: summing.add, damage: summing.damage, progress: progress.show }),
      progress.clear
    )
    const summary = summing.result()
    const names = dimensions.includes("key") ? yield* keyNames : new Map<string, string>()
    yield* Console.log(showSummary(summary, format, new Map([...summary.keyNames, ...names])).trimEnd())
    if (format === "csv" && summary.damaged > 0) yield* Console.error(damageText(summary))
  })
).pipe(
  Command.withDescription("Sum usage records: who used what, how much, how fast, and how it ended"),
  Command.withSubcommands([verify])
)
