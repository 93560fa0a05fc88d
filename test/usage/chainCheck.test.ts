import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { lastHead, makeChain } from "../../src/access/usageChain.ts"
import { makeChainChecking } from "../../src/usage/chainCheck.ts"
import { showVerdict } from "../../src/usage/report.ts"
import { anchorLine, chained, line } from "./records.ts"

/** Files by name, in the order in which they are given. */
const check = (files: Readonly<Record<string, ReadonlyArray<string>>>, log: ReadonlyArray<string> = []) => {
  const checking = makeChainChecking(() => false)
  for (const [at, text] of log.entries()) checking.anchor(text, "log", at + 1)
  for (const [file, lines] of Object.entries(files)) {
    for (const [at, text] of lines.entries()) checking.add(text, file, at + 1)
  }
  return checking.result()
}
const breaksOf = (...given: Parameters<typeof check>) =>
  check(...given).breaksAt.map(
    ({ kind, place, seq, through = seq }) =>
      `${kind} ${place.file}:${place.line} ${seq}${through === seq ? "" : `-${through}`}`
  )
const edit = (text: string) => text.replace('"output":20', '"output":1')

describe("a chain", () => {
  const chain = makeChain()
  const lines = chained(10, chain)
  const head = chain.head()

  it("holds as it was written", () => {
    const logLine = '{"timestamp":"2026-11-21T00:00:00.000Z","message":"hi","request_id":"1","outcome":"ok"}'
    const verdict = check({ a: [...lines, logLine] }, [anchorLine(head), "no log line", logLine])
    assert.deepEqual([verdict.breaks, verdict.unchained, verdict.other], [0, 0, 1])
    assert.deepEqual(verdict.open, [])
    assert.deepEqual(verdict.chains, [
      { instance: chain.instance, records: 10, first: 1, last: 10, digest: head.digest, anchors: 1 }
    ])
    assert.include(showVerdict(verdict), "10 records in 1 chain: no break.")
  })

  const without = (...at: ReadonlyArray<number>) => lines.filter((_, index) => !at.includes(index + 1))
  const moved = [...lines.slice(0, 3), lines[4] ?? "", lines[3] ?? "", ...lines.slice(5)]
  it.each([
    ["changed", lines.with(4, edit(lines[4] ?? "")), ["changed a:5 5"]],
    ["removed", without(5), ["missing a:5 5"]],
    ["removed, several", without(5, 6, 7), ["missing a:5 5-7"]],
    ["reordered", moved, ["moved a:5 4"]],
    ["repeated elsewhere, changed", [...lines, edit(lines[2] ?? "")], ["moved a:11 3"]],
    ["the last one removed", without(10), ["missing a:9 10"]],
    ["the last one changed", lines.with(9, edit(lines[9] ?? "")), ["changed a:10 10"]],
    ["cut in the middle", lines.with(4, '{"time'), ["damaged a:5 undefined", "missing a:6 5"]],
    ["without its place", lines.with(4, line(5)), ["unchained a:5 undefined", "missing a:6 5"]]
  ])("shows a record that was %s", (_, files, expected) => {
    assert.deepEqual(breaksOf({ a: files }, [anchorLine(head)]), expected)
  })

  it("shows one that was made anew as a whole, by the log", () => {
    const forged = makeChain(undefined, chain.instance)
    assert.deepEqual(breaksOf({ a: chained(9, forged) }, [anchorLine(head)]), ["missing a:9 10"])
    assert.deepEqual(breaksOf({ a: lines.with(3, edit(lines[3] ?? "")) }, [anchorLine({ ...head, seq: 4 })]), [
      "changed a:4 4",
      "changed a:4 4"
    ])
  })

  it("says what only an earlier file can show", () => {
    const verdict = check({ a: without(1, 2) })
    assert.strictEqual(verdict.breaks, 0)
    assert.match(verdict.open.join(), /records 1 to 2 are in an earlier file, or were removed/)
  })

  it("and half a line at the end of a file is said", () => {
    const verdict = check({ a: lines.with(9, (lines[9] ?? "").slice(0, 100)) })
    assert.strictEqual(verdict.breaks, 0)
    assert.match(verdict.open.join(), /a:10 is half a line at the end of a file/)
  })

  it.prop(
    "holds through rotation in any order, other writers, repeats and what went to standard error",
    {
      cuts: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))).check(Schema.isMaxLength(5)),
      backwards: Schema.Boolean,
      spilled: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 39 }))
    },
    ({ backwards, cuts, spilled }) => {
      const [one, two] = [chained(40), chained(40)]
      const spill = one.slice(spilled, spilled + 3)
      // A batch that failed half way leaves half a line, and is written again.
      const all = one.flatMap((text, at) => [
        ...(at >= spilled && at < spilled + 3
          ? []
          : at % 10 === 5 && !backwards
            ? [text, text.slice(0, 40), "", text]
            : [text]),
        two[at] ?? ""
      ])
      const ends = [0, ...cuts.map((cut) => 2 * cut).sort((left, right) => left - right), all.length]
      const parts = ends.slice(1).map((end, at) => all.slice(ends[at], end))
      const files = Object.entries({ ...(backwards ? parts.reverse() : parts) }).map(([name, lines]) => [
        `f${name}`,
        lines
      ])
      const verdict = check({ ...Object.fromEntries(files), stderr: spill })
      assert.deepEqual(verdict.breaksAt, [])
      assert.deepEqual(verdict.open, [])
      assert.deepEqual(
        verdict.chains.map(({ records }) => records),
        [40, 40]
      )
    }
  )

  it.prop(
    "shows any one record that was changed or removed",
    {
      at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 19 })),
      how: Schema.Literals(["change", "remove"])
    },
    ({ at, how }) => {
      const chain = makeChain()
      const lines = chained(20, chain)
      const touched = how === "remove" ? lines.toSpliced(at, 1) : lines.with(at, edit(lines[at] ?? ""))
      const { breaks, open } = check({ a: touched }, [anchorLine(chain.head())])
      if (how === "remove" && at === 0) assert.match(open.join(), /records?.* 1 (is|are) in an earlier file/)
      else assert.strictEqual(breaks, 1)
    }
  )
})

describe("a restart", () => {
  const first = makeChain()
  const before = chained(5, first)
  const text = before.map((line) => `${line}\n`).join("")
  const after = chained(3, makeChain(lastHead(`${text}{"half`)))

  it("is a link to the last whole record in the file", () => {
    assert.deepEqual(lastHead(text), first.head())
    assert.isUndefined(lastHead("x\n{}\n"))
    assert.strictEqual(JSON.parse(after[0] ?? "").after, `${first.instance}:5`)
    assert.notProperty(JSON.parse(after[1] ?? ""), "after")
    assert.strictEqual(check({ a: [...before, ...after] }).breaks, 0)
    assert.strictEqual(check({ "a.1": before, a: after }).breaks, 0)
    assert.strictEqual(check({ a: after, "a.1": before }).breaks, 0)
  })

  it("shows what was changed or cut off before it", () => {
    assert.deepEqual(breaksOf({ a: [...before.slice(0, 3), ...after] }), ["missing a:3 4-5"])
    assert.deepEqual(breaksOf({ a: [...before.with(4, edit(before[4] ?? "")), ...after] }), ["changed a:5 5"])
    const { breaks, open } = check({ a: after })
    assert.strictEqual(breaks, 0)
    assert.match(open.join(), /follows record 5 .* in an earlier file, or was removed/)
  })

  it("whose every record was removed shows in the log", () => {
    const next = makeChain(first.head())
    chained(3, next)
    const log = [anchorLine(first.head()), anchorLine(next.head())]
    assert.deepEqual(breaksOf({ a: before }, log), ["missing log:2 1-3"])
    const { breaks, open } = check({ a: chained(2) }, log)
    assert.deepEqual([breaks, open.length], [0, 2])
  })

  it("of a release that did not chain its records is no break, but an unchained record among chained ones is", () => {
    const { breaks, unchained } = check({ a: [line(1), line(2), ...before] })
    assert.deepEqual([breaks, unchained], [0, 2])
    assert.deepEqual(breaksOf({ a: [...before, line(1)] }), ["unchained a:6 undefined"])
  })
})
