import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { longestLine, makeLines } from "../../src/operators/usage/readFiles.ts"
import { showSummary } from "../../src/operators/usage/report.ts"
import { isDimension, makeSumming, type SummaryOptions, times } from "../../src/operators/usage/summary.ts"
import { chained, line } from "./records.ts"

const sum = (lines: ReadonlyArray<string | undefined>, options: SummaryOptions = { by: ["key"] }) => {
  const summing = makeSumming(options)
  for (const [at, text] of lines.entries()) summing.line(text, { file: "f", line: at + 1 })
  return summing.result()
}

describe("lines", () => {
  const split = (bytes: Uint8Array, size: number) => {
    const got: Array<string | undefined> = []
    const numbers: Array<number> = []
    const lines = makeLines((line, number) => {
      got.push(line)
      numbers.push(number)
    })
    for (let at = 0; at < bytes.length; at += size) lines.push(bytes.subarray(at, at + size))
    lines.end()
    assert.deepEqual(
      numbers,
      got.map((_, at) => at + 1)
    )
    assert.strictEqual(lines.count(), got.length)
    return got
  }

  it.prop(
    "are the same in pieces of any size",
    {
      texts: Schema.Array(Schema.Literals(["", "a", "é\u{1f600}", "long ".repeat(10)])),
      ended: Schema.Boolean,
      size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))
    },
    ({ ended, size, texts }) => {
      const text = texts.join("\n") + (ended && texts.length > 0 ? "\n" : "")
      const expected = text.split("\n")
      if (expected.at(-1) === "") expected.pop()
      assert.deepEqual(split(Buffer.from(text), size), expected)
    }
  )

  it("that are too long are not kept", () => {
    const text = `a\n${"x".repeat(longestLine + 1)}\nb`
    assert.deepEqual(split(Buffer.from(text), 65_536), ["a", undefined, "b"])
    assert.deepEqual(split(Buffer.from(text), text.length), ["a", undefined, "b"])
  })
})

describe("a summary", () => {
  it("adds what records say", () => {
    const { groups, total } = sum([
      line(1, { tokens: { input: 1, output: 2, reasoning: 3, cached: 4 }, first_event_ms: 5 }),
      line(2, { tokens: null, status: 400, outcome: "invalid", counts: { tools: 1, images: 1, files: 1, flags: 2 } }),
      line(3, { tokens: null, status: 403, outcome: "forbidden" }),
      line(4, { tokens: null, status: 403, outcome: "unauthenticated", key_id: null }),
      line(5, { tokens: null, status: 429, outcome: "quota" }),
      line(6, { tokens: null, status: 429, outcome: "rate_limited" }),
      // A cloud's own.
      line(7, { tokens: null, status: 429, outcome: "upstream_error" }),
      line(8, { tokens: null, status: 400, outcome: "upstream_error" })
    ])
    assert.deepInclude(total, {
      ...{ requests: 8, flags: 2, cost: undefined, refused: { "400": 1, "403": 2, "429": 2 } },
      tokens: {
        ...{ input: 1, cached: 4, cache_writes: 0, cache_writes_1h: 0, output: 2, reasoning: 3 },
        estimated: undefined
      }
    })
    assert.strictEqual(total.outcomes.get("upstream_error"), 2)
    assert.approximately((total.first_event_ms && times.percentile(total.first_event_ms, 1)) ?? 0, 5, 0.05)
    assert.deepEqual(
      groups.map(({ totals, values }) => [values, totals.requests]),
      [
        [[null], 1],
        [["key_1"], 7]
      ]
    )
  })

  it("has what a cache keeps for an hour apart, as it has a price of its own", () => {
    const summary = sum([line(1, { tokens: { input: 20, output: 1, cache_writes: 12, cache_writes_1h: 7 } }), line(2)])
    const csv = showSummary(summary, "csv", new Map())
      .split("\n")
      .map((row) => row.split(","))
    const at = csv[0]?.indexOf("cache_write_1h_tokens") ?? -1
    assert.deepEqual([summary.total.tokens.cache_writes_1h, csv[1]?.[at]], [7, "7"])
    assert.notInclude(showSummary(sum([line(2)]), "csv", new Map()), "1h")
  })

  it("reads what later releases add", () => {
    const later = (cost: number) =>
      JSON.stringify({
        ...JSON.parse(line(1)),
        ...{ cost, team: "red", key_name: "App" },
        tokens: { input: 1, output: 1, cache_writes: 9 }
      })
    const { groups, keyNames, total } = sum([later(1_500_000), later(1)], { by: ["team"] })
    assert.strictEqual(total.cost, 1_500_001)
    assert.strictEqual(total.tokens.cache_writes, 18)
    assert.deepEqual([...keyNames], [["key_1", "App"]])
    assert.deepEqual(groups[0]?.values, ["red"])
  })

  it("groups by every dimension", () => {
    const { groups } = sum([line(1), line(2, { deployment: null, level: null, model: "claude:x:il5", key_id: null })], {
      by: ["key", "team", "model", "level", "cloud", "surface", "day"]
    })
    assert.deepEqual(
      groups.map(({ values }) => values),
      [
        [null, null, "claude:x", null, null, "chat", "2026-11-21"],
        ["key_1", null, "gpt-5.1", "il5", "azure", "chat", "2026-11-21"]
      ]
    )
  })

  it("groups by who answers, from where, by hour and by a tag", () => {
    const { groups } = sum(
      [
        line(1, { owner: "A. Miller", tags: { project: "atlas" } }),
        line(3_600_000, { tags: { project: "atlas", other: "x" }, source: null }),
        line(2)
      ],
      { by: ["owner", "source", "hour", "tag:project"] }
    )
    assert.deepEqual(
      groups.map(({ values }) => values),
      [
        [null, null, "2026-11-21T01", "atlas"],
        [null, "127.0.0.1", "2026-11-21T00", null],
        ["A. Miller", "127.0.0.1", "2026-11-21T00", "atlas"]
      ]
    )
    for (const none of ["tag:", "tag", "tags:x", "toString"]) assert.isFalse(isDimension(none), none)
    // A tag may be called as anything.
    assert.deepEqual(sum([line(1)], { by: ["tag:toString"] }).groups[0]?.values, [null])
  })

  it.each([
    [undefined, undefined, 3],
    ["2026-11-21T00:00:00.001Z", undefined, 2],
    [undefined, "2026-11-21T00:00:00.001Z", 1],
    ["2026-11-21T00:00:00.001Z", "2026-11-21T00:00:00.002Z", 1],
    ["2026-11-22T00:00:00.000Z", undefined, 0]
  ])("from %s (inclusive) to %s (exclusive) has %d records", (from, to, expected) => {
    const other = JSON.stringify({ ...JSON.parse(line(0)), time: "2026-11-21T02:00:00.001+02:00" })
    assert.strictEqual(sum([line(0), other, line(2)], { by: ["day"], from, to }).total.requests, expected)
  })

  it("counts and names damaged lines", () => {
    const whole = line(1)
    const wrong = [
      ...[whole.slice(0, 50), "x", "[]", "null", "{", undefined],
      ...[{ duration_ms: "1" }, { tokens: [] }, { counts: null }, { deployment: {} }, { time: "then" }].map((fields) =>
        JSON.stringify({ ...JSON.parse(whole), ...fields })
      )
    ]
    const { damagedAt, lines, total } = sum([whole, "", '{"level":"info","message":"hi"}', ...wrong, whole])
    assert.strictEqual(total.requests, 2)
    assert.deepInclude(lines, { other: 1, damaged: wrong.length })
    assert.deepEqual(
      damagedAt.map(({ line }) => line),
      [4, 5, 6, 7, 8]
    )
  })

  it("takes no number for a count that cannot be one", () => {
    const fields = { tokens: { input: -5, output: 1.5 }, counts: { flags: -1 }, cost: -7 }
    const { total } = sum([line(1), JSON.stringify({ ...JSON.parse(line(2)), ...fields })])
    const alone = sum([line(1)]).total
    assert.strictEqual(total.requests, 2)
    assert.deepEqual([total.tokens, total.flags, total.cost ?? 0], [alone.tokens, alone.flags, alone.cost ?? 0])
  })

  it("counts a record once that a failed write, or another of the files, repeats", () => {
    const lines = chained(9000)
    const summary = sum([...lines, ...lines.slice(-1000), ...lines])
    assert.strictEqual(summary.total.requests, 9000)
    assert.strictEqual(summary.lines.repeated, 10_000)
  })

  it("has a bound on groups, beyond which it names none", () => {
    const lines = Array.from({ length: 100 }, (_, n) => line(n, { deployment: null, model: `made-up-${n}:il5` }))
    const summary = sum(lines, { by: ["model"], groups: 10 })
    assert.strictEqual(summary.groups.length, 10)
    assert.strictEqual(summary.rest?.requests, 90)
    assert.strictEqual(summary.total.requests, 100)
    assert.include(showSummary(summary, "table", new Map()), "(other)")
  })
})

describe("a report", () => {
  const evil = `=cmd()\u001b[2J,"x"\n`
  const summary = sum([line(1, { deployment: null, model: evil }), line(2)], { by: ["key", "model"] })
  const names = new Map([["key_1", "Ann, of accounts"]])

  it("as a table steers no terminal, and names keys", () => {
    const text = showSummary(summary, "table", names)
    assert.notInclude(text, "\u001b")
    assert.include(text, "Ann, of accounts (key_1)")
    assert.include(text, "TOTAL")
    assert.notInclude(text, "COST")
    assert.include(text, "Outcomes: ok 2")
  })

  it("as a table groups the digits of whole thousands only", () => {
    const text = showSummary(sum([line(1, { duration_ms: 0.08 }), line(2, { duration_ms: 1_234_567 })]), "table", names)
    assert.match(text, / 0\.08\d* +1,2\d0,000 /)
  })

  it("as CSV quotes, and has no formulas that callers chose", () => {
    const text = showSummary(summary, "csv", names)
    assert.match(text, /^key,key_name,model,requests,outcome_ok,/)
    assert.include(text, `key_1,"Ann, of accounts","'=cmd()`)
    assert.include(text, `""x""`)
    assert.notInclude(text, "\u001b")
  })

  it("as JSON reads back", () => {
    const text = showSummary(summary, "json", names)
    assert.notInclude(text, "\u001b")
    const back = JSON.parse(text)
    assert.deepInclude(back.rows[0], { key: "key_1", key_name: "Ann, of accounts", model: evil, requests: 1 })
    assert.deepEqual(back.lines, { read: 2, records: 2, damaged: 0, other: 0, repeated: 0 })
    assert.notProperty(back.total, "cost")
  })

  it("counts the tokens that are estimates, where there are any", () => {
    const counted = line(1)
    const estimated = line(2, { tokens: { input: 3, output: 1000, estimated: true } })
    const names = new Map()
    const of = (...lines: ReadonlyArray<string>) => ({
      json: JSON.parse(showSummary(sum(lines), "json", names)).total.tokens,
      csv: showSummary(sum(lines), "csv", names),
      table: showSummary(sum(lines), "table", names)
    })
    const both = of(counted, estimated)
    assert.deepInclude(both.json, { input: 13, output: 1020, estimated: 1003 })
    assert.match(both.csv, /,estimated_tokens\n.*,1003\n$/)
    assert.match(both.table, /ESTIMATED\n.* 1,003\n/)
    const none = of(counted)
    assert.notProperty(none.json, "estimated")
    assert.notMatch(none.csv + none.table, /estimated/i)
  })

  it("shows cost in whole units", () => {
    const priced = JSON.stringify({ ...JSON.parse(line(1)), cost: 1_234_567 })
    const summary = sum([priced, JSON.stringify({ ...JSON.parse(line(2)), cost: 5 }), line(3)])
    assert.match(showSummary(summary, "table", new Map()), /COST\n.* 1\.234572\n/)
    assert.match(showSummary(summary, "csv", new Map()), /,cost\n.*,1\.234572\n/)
    assert.strictEqual(JSON.parse(showSummary(summary, "json", new Map())).total.cost, 1_234_572)
  })
})
