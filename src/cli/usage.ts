/** `usage`: sums usage records, and checks their chain (docs/operation.md#commands). */
import { Console, DateTime, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { readKeys } from "../access/KeyFile.ts"
import { parseTime } from "../access/keyOptions.ts"
import { makeChainChecking } from "../usage/chainCheck.ts"
import { checkFiles, readFiles } from "../usage/readFiles.ts"
import { damageText, formats, type KeyNames, showSummary, showVerdict } from "../usage/report.ts"
import { dimensions, isDimension, makeSumming } from "../usage/summary.ts"
import { fail, optionalText, print, settings } from "./shared.ts"

/** Dimensions, as `--by` names them. */
export const parseBy = (text: string) =>
  Effect.forEach([...new Set(text.split(",").map((item) => item.trim()))], (item) =>
    isDimension(item)
      ? Effect.succeed(item)
      : fail(`--by: ${JSON.stringify(item)} is none of ${dimensions.join(", ")}; several are separated by commas`)
  )

/** A date (its beginning, UTC) or a time, as `toISOString` writes it. */
export const parseBound = Effect.fnUntraced(function* (option: string, text: string | undefined) {
  if (text === undefined) return undefined
  const time = parseTime(text)
  return Option.isSome(time)
    ? DateTime.formatIso(time.value)
    : yield* fail(`--${option}: expected a date such as 2026-11-01 (UTC), or a time such as 2026-11-01T12:00:00Z`)
})

/** The files named, else the usage log. */
const filesOf = Effect.fnUntraced(function* (named: ReadonlyArray<string>) {
  if (named.length > 0) return named
  const { gateway } = yield* settings
  if (gateway.usageLog !== "stdout") return [gateway.usageLog]
  return yield* fail(
    "which records? GATEWAY_USAGE_LOG names no file here. Give files (.jsonl, .gz), or - for standard input: " +
      "npm run gateway -- usage usage.jsonl"
  )
})

/** Names of keys; without a readable key file there are none. */
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
  return {
    show: (bytes: number) => {
      const now = performance.now()
      if (now < next) return
      next = now + 250
      const share = size === undefined || size === 0 ? "" : `, ${Math.min(100, Math.floor((100 * bytes) / size))} %`
      const rate = Math.round((1000 * records()) / (now - startedAt))
      process.stderr.write(`\r\u001b[K${records()} records${share}, ${rate} a second`)
    },
    clear: Effect.sync(() => void process.stderr.write("\r\u001b[K"))
  }
}

const files = Argument.String("FILE").pipe(
  Argument.withDescription(
    "usage records: .jsonl, .gz, or - for standard input; what GATEWAY_USAGE_LOG names otherwise"
  ),
  Argument.variadic()
)

const verify = Command.make(
  "verify",
  { files },
  Effect.fnUntraced(function* (named) {
    const { files, once, size } = yield* checkFiles(yield* filesOf(named.files))
    const checking = makeChainChecking((file) => once.has(file))
    const progress = makeProgress(size === undefined ? undefined : 2 * size, checking.records)
    // The log's heads first, so that every record can be compared with them. A pipe is read once.
    const again = files.filter((file) => !once.has(file))
    const work = Effect.gen(function* () {
      const before = yield* readFiles(again, { line: checking.anchor, damage: () => {}, progress: progress.show })
      const show = (bytes: number) => progress.show(before + bytes)
      yield* readFiles(files, { line: checking.add, damage: checking.damage, progress: show })
    })
    yield* Effect.ensuring(work, progress.clear)
    const verdict = checking.result()
    yield* print(showVerdict(verdict))
    if (verdict.breaks > 0) return yield* fail(`the chain of usage records is broken (${verdict.breaks})`)
  })
).pipe(
  Command.withDescription(
    "Check that no usage record was changed, removed or moved; give the gateway's log (JSON) too, to compare"
  )
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
    const from = yield* parseBound("from", given.from)
    const to = yield* parseBound("to", given.to)
    if (from !== undefined && to !== undefined && from >= to) {
      return yield* fail("--from must be before --to, which is not included")
    }
    const { files, size } = yield* checkFiles(yield* filesOf(given.files))
    const summing = makeSumming({ by, from, to })
    const progress = makeProgress(size, summing.records)
    yield* Effect.ensuring(
      readFiles(files, { line: summing.add, damage: summing.damage, progress: progress.show }),
      progress.clear
    )
    const summary = summing.result()
    const names = by.includes("key") ? yield* keyNames : []
    yield* print(showSummary(summary, format, new Map([...summary.keyNames, ...names])))
    if (format === "csv" && summary.lines.damaged > 0) yield* Console.error(damageText(summary))
  })
).pipe(
  Command.withDescription("Sum usage records: who used what, how much, how fast, and how it ended"),
  Command.withSubcommands([verify])
)
