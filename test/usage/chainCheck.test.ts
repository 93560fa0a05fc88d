import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Head, lastHead, lineDigest, makeChain, noDigest } from "../../src/limits/usageChain.ts"
import { makeChainChecking, type Verdict } from "../../src/operators/usage/chainCheck.ts"
import { showVerdict } from "../../src/operators/usage/report.ts"
import { anchorLine, chained, line } from "./records.ts"

/** Files by name, in the order in which they are given. */
const check = (files: Readonly<Record<string, ReadonlyArray<string>>>, log: ReadonlyArray<string> = []) => {
  const checking = makeChainChecking(() => false)
  for (const [at, text] of log.entries()) checking.anchor(text, { file: "log", line: at + 1 })
  for (const [file, lines] of Object.entries(files)) {
    for (const [at, text] of lines.entries()) checking.line(text, { file: file, line: at + 1 })
  }
  return checking.result()
}
/** Lines from standard input, the log's among them. */
const checkInput = (...lines: ReadonlyArray<string>) => {
  const checking = makeChainChecking()
  for (const [at, text] of lines.entries()) checking.line(text, { file: "-", line: at + 1 })
  return checking.result()
}
const shown = ({ breaksAt }: Verdict) =>
  breaksAt.map(
    ({ kind, place, seq, through = seq }) =>
      `${kind} ${place.file}:${place.line} ${seq}${through === seq ? "" : `-${through}`}`
  )
const breaksOf = (...given: Parameters<typeof check>) => shown(check(...given))
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
  it("shows a record that was changed at the end of a file that is read after the next", () => {
    const changed = lines.slice(0, 5).with(4, edit(lines[4] ?? ""))
    assert.deepEqual(breaksOf({ b: lines.slice(5), a: changed }), ["changed a:5 5"])
  })

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

  it("shows by the log a chain that was forged as a whole", () => {
    const forged = makeChain(undefined, { instance: chain.instance })
    assert.deepEqual(breaksOf({ a: chained(9, forged) }, [anchorLine(head)]), ["missing a:9 10"])
    assert.deepEqual(breaksOf({ a: lines.with(3, edit(lines[3] ?? "")) }, [anchorLine({ ...head, seq: 4 })]), [
      "changed a:4 4",
      "changed a:4 4"
    ])
  })

  it("reports as open what only an earlier file can show", () => {
    const verdict = check({ a: without(1, 2) })
    assert.strictEqual(verdict.breaks, 0)
    assert.match(verdict.open.join(), /records 1 to 2 are in an earlier file, or were removed/)
    assert.match(check({ a: without(1) }).open.join(), /: record 1 is in an earlier file, or was removed/)
  })

  it("reports half a line at the end of a file as open", () => {
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

describe("the log", () => {
  const chain = makeChain()
  const lines = chained(2000, chain)
  const head = (seq: number): Head => ({
    instance: chain.instance,
    seq,
    digest: lineDigest(lines[seq - 1] ?? assert.fail())
  })
  const right = (seq: number) => anchorLine(head(seq))
  const wrong = (seq: number) => anchorLine({ ...head(seq), digest: noDigest })
  const anchors = ({ chains }: Verdict) => chains.map(({ anchors }) => anchors)

  it("has heads, and those that hold are counted, each of them once", () => {
    const verdict = check({ a: lines }, [right(3), wrong(5), right(7), right(7)])
    assert.deepEqual([anchors(verdict), shown(verdict)], [[2], ["changed a:5 5"]])
    const input = checkInput(...lines.slice(0, 5), right(3), wrong(5), right(3), wrong(5))
    assert.deepEqual([anchors(input), shown(input)], [[1], ["changed -:5 5"]])
  })

  it("shows a line that contradicts another", () => {
    const verdict = check({ a: lines }, [right(3), right(5), wrong(3), right(3)])
    assert.deepEqual([anchors(verdict), shown(verdict)], [[2], ["changed log:3 3"]])
    assert.match(showVerdict(verdict), /BREAK log:3: .*record 3, has another digest in an earlier line of the log/)
    const some = lines.slice(0, 5)
    assert.deepEqual(shown(checkInput(...some, right(3), wrong(3))), ["changed -:7 3"])
    assert.deepEqual(shown(checkInput(right(3), ...some, wrong(3))), ["changed -:7 3"])
    assert.deepEqual(shown(checkInput(...some, wrong(3), right(3))), ["changed -:5 3", "changed -:7 3"])
    // The first one has been compared, and forgotten.
    assert.deepEqual(shown(checkInput(right(3), ...lines, wrong(3))), [])
    assert.deepEqual(shown(checkInput(...lines, right(3), wrong(3))), ["changed -:2002 3"])
  })

  it("comes too late on standard input for records that were read long before, which is reported as open", () => {
    const late = checkInput(...lines, right(3), right(976), right(977), right(2000))
    assert.deepEqual([late.breaks, anchors(late)], [0, [2]])
    assert.deepEqual(late.open, [
      `chain ${chain.instance}: 2 of the log's heads, up to record 976, could not be compared, because the records were read too long before; give the log as a file of its own, or before the records`
    ])
    assert.deepEqual(checkInput(right(3), right(976), ...lines).open, [])
    assert.deepEqual(check({ a: lines }, [right(3), right(976)]).open, [])
    // Records that were not read are missing, or in an earlier file.
    const end = checkInput(...lines.slice(1, -1), right(1), right(2000))
    assert.deepEqual(shown(end), ["missing -:1998 2000"])
    assert.match(end.open.join("\n"), /^chain \w+ begins at .*$/)
  })

  it.each([0, -1, 2.5, 2 ** 53])("has no head with the number %d", (seq) => {
    const { breaks, chains, open } = check({ a: lines.slice(0, 2) }, [anchorLine({ ...head(1), seq })])
    assert.deepEqual([breaks, open.length, chains.length], [0, 0, 1])
    assert.deepEqual(check({ a: [] }, [anchorLine({ ...head(1), seq })]).open, [])
  })
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

  /** While it goes on, another begins after the record that it had written then. */
  const rolling = (linked: number, at: number, digest?: string) => {
    const old = makeChain()
    const lines = chained(4000, old)
    const next = makeChain({
      instance: old.instance,
      seq: linked,
      digest: digest ?? lineDigest(lines[linked - 1] ?? assert.fail())
    })
    const [one = "", two = ""] = chained(2, next)
    return { lines, next: [one, two], all: [...lines.slice(0, at), one, ...lines.slice(at), two] }
  }

  it("is a link also while another process goes on writing", () => {
    const cases: ReadonlyArray<readonly [linked: number, at: number]> = [
      [1000, 1000],
      [1000, 2000],
      [3500, 3000],
      [4000, 3000]
    ]
    for (const [linked, at] of cases) {
      const { breaks, open } = check({ a: rolling(linked, at).all })
      assert.deepEqual([breaks, open], [0, []])
    }
    const other = rolling(1000, 1010, noDigest)
    assert.deepEqual(breaksOf({ a: other.all }), ["changed a:1010 1000"])
    assert.deepEqual(breaksOf({ a: [...other.all, other.lines.at(-1) ?? "", other.next[1] ?? ""] }), [
      "changed a:1010 1000"
    ])
  })

  it("is reported as open where its link could not be compared", () => {
    for (const digest of [undefined, noDigest]) {
      const { lines, next } = rolling(1000, 0, digest)
      for (const files of [{ a: next, "a.1": lines }, { a: [...lines, ...next] }]) {
        const { breaks, open } = check(files)
        assert.deepEqual([breaks, open.length], [0, 1])
        assert.match(
          open.join(),
          /follows record 1000 of chain \w+, which could not be compared, because it was read too long before or after it; give the files in their order$/
        )
      }
    }
    // What is missing is reported once.
    const { all, lines } = rolling(1000, 1000)
    assert.deepEqual(breaksOf({ a: all.toSpliced(999, 1) }), ["missing a:1001 1000"])
    const { breaks, open } = check({ a: [...all.slice(1000, 1001), ...lines.slice(1000), ...all.slice(-1)] })
    assert.deepEqual([breaks, open.length], [0, 1])
  })

  it.each(["", "x", "0123:0", "0123:1.5", "0123:01", `0123:${2 ** 53}`, ":5", `${"0".repeat(65)}:1`])(
    "whose link is to %j is no link to any record",
    (name) => {
      for (const prev of [noDigest, first.head().digest]) {
        const text = line(1).replace(/\}$/, `,"instance":"ab","seq":1,"prev":"${prev}","after":"${name}"}`)
        const verdict = check({ a: [text] })
        assert.deepEqual([shown(verdict), verdict.open], [["changed a:1 1"], []])
      }
    }
  )

  it("of a release that did not chain its records is no break, but an unchained record among chained ones is", () => {
    const { breaks, unchained } = check({ a: [line(1), line(2), ...before] })
    assert.deepEqual([breaks, unchained], [0, 2])
    assert.deepEqual(breaksOf({ a: [...before, line(1)] }), ["unchained a:6 undefined"])
  })
})
