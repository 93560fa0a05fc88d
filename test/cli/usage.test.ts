/** `usage` and `usage verify` as an operator runs them. */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeChain } from "../../src/limits/usageChain.ts"
import { parseBound, parseBy } from "../../src/operators/cli/usage.ts"
import { checkFiles } from "../../src/operators/usage/readFiles.ts"
import { sharedCommands } from "../operation/commands.ts"
import { anchorLine, chained, line } from "../usage/records.ts"

const source = join(import.meta.dirname, "../../src")
const directory = mkdtempSync(join(tmpdir(), "gateway-usage-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
const file = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(directory, name), content)
  return name
}

const command = sharedCommands()
const run = async (args: ReadonlyArray<string>, env: Record<string, string> = {}) => {
  const { code, stderr, stdout } = await command(["usage", ...args], env, directory)
  return { code, err: stderr, out: stdout }
}

const runWith = (args: ReadonlyArray<string>, input: string) =>
  new Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>((resolve) => {
    const child = spawn(
      process.execPath,
      ["--import", join(source, "installed.js"), join(source, "main.ts"), "usage", ...args],
      {
        cwd: directory,
        env: { PATH: process.env.PATH }
      }
    )
    let out = ""
    let err = ""
    child.stdout.setEncoding("utf8").on("data", (text) => {
      out += text
    })
    child.stderr.setEncoding("utf8").on("data", (text) => {
      err += text
    })
    child.once("close", (code) => resolve({ code, out, err }))
    child.stdin.end(input)
  })

/** A command starts slowly on a machine that does other things. */
const patience = { timeout: 60_000 }

const text = (lines: ReadonlyArray<string>): string => lines.map((line) => `${line}\n`).join("")
const three = text([line(1), line(2, { key_id: "key_2" }), line(3, { status: 400, outcome: "invalid", tokens: null })])

describe("usage", () => {
  it("sums files, archives and standard input, and names what is damaged", patience, async () => {
    const plain = file("plain.jsonl", `${three}${line(4).slice(0, 40)}`)
    const archive = file("archive.jsonl.gz", Buffer.concat([gzipSync(three), gzipSync(three)]))
    const big = gzipSync(text(chained(500)))
    const cut = file("cut.jsonl.gz", big.subarray(0, big.length - 100))
    const { code, err, out } = await runWith([plain, "./plain.jsonl", archive, cut, "-", "--format", "json"], three)
    assert.strictEqual(err, "")
    assert.strictEqual(code, 0)
    const report = JSON.parse(out)
    assert.strictEqual(report.lines.damaged, 2)
    assert.deepEqual(report.damaged[0], { file: plain, line: 4 })
    assert.strictEqual(report.damaged[1].file, cut)
    assert.deepInclude(report.rows[1], { key: "key_2", requests: 4 })
    assert.deepEqual(report.total.refused, { "400": 4, "403": 0, "429": 0 })
    assert.isAbove(report.total.requests, 200)
  })

  it("reads what GATEWAY_USAGE_LOG names, and names keys", patience, async () => {
    const at = "2026-01-01T00:00:00.000Z"
    const key = { id: "key_2", name: "Ann", digest: "0".repeat(64), created: at, acknowledged: at }
    const settings = {
      GATEWAY_USAGE_LOG: file("log.jsonl", three),
      GATEWAY_KEYS_FILE: file("keys.json", JSON.stringify({ version: 1, keys: [key] }))
    }
    const { code, out } = await run([], settings)
    assert.strictEqual(code, 0)
    assert.match(out, /^KEY +REQUESTS/)
    assert.match(out, /^key_1 +2 .*\nAnn \(key_2\) +1 .*\nTOTAL +3 /m)
    const day = await run(
      ["--by", "day,cloud", "--from", "2026-11-21", "--to", "2026-11-22", "--format", "csv"],
      settings
    )
    assert.match(day.out, /^day,cloud,requests.*\n2026-11-21,azure,3,/)
  })

  it("names in one line what it needs", patience, async () => {
    for (const command of [[], ["verify"], ["restore"]]) {
      const { code, err, out } = await run(command)
      assert.deepEqual([code, out], [1, ""])
      assert.match(err, /^gateway: which records\? GATEWAY_USAGE_LOG names no file here\. Give files [^:]*\n$/)
    }
  })

  const files = (names: ReadonlyArray<string>) =>
    checkFiles(names.map((name) => (name === "-" ? name : join(directory, name)))).pipe(
      Effect.provide(NodeFileSystem.layer)
    )
  it.effect.each([
    [files(["nowhere.jsonl"]), /nowhere\.jsonl does not exist/],
    [files(["."]), /is a directory; name files/],
    [parseBy("key,colour"), /--by: "colour" is none of key, team/],
    [parseBound("from")("2026-02-30"), /--from: expected a date/],
    [parseBound("from")("2026-02-30T10:00:00Z"), /--from: expected a date/],
    [parseBound("to")("yesterday"), /--to: expected a date.*; not "yesterday"$/],
    [parseBound("to")("2026-02-03T10:00"), /--to: expected a date/]
  ] as const)("refuses what it cannot read (%#)", ([effect, expected]) =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip<unknown, { readonly message: string }, never>(effect)
      assert.match(message, expected)
    })
  )

  it.effect.each([
    ["2026-11-21", "2026-11-21T00:00:00.000Z"],
    ["2026-11-21T10:00Z", "2026-11-21T10:00:00.000Z"],
    ["2026-11-21T10:00:00.5+02:00", "2026-11-21T08:00:00.500Z"]
  ] as const)("reads the time %s", ([text, expected]) =>
    Effect.map(parseBound("from")(text), (time) => assert.strictEqual(time, expected))
  )
})

describe("usage verify", () => {
  const chain = makeChain()
  const lines = chained(20, chain)
  const log = anchorLine(chain.head())

  it("passes rotated files in any order, with the log", patience, async () => {
    const { code, err, out } = await run([
      "verify",
      file("verify.jsonl", text(lines.slice(10))),
      file("verify.jsonl.1.gz", gzipSync(text(lines.slice(0, 10)))),
      file("gateway.log", `${log}\nnot JSON\n`)
    ])
    assert.strictEqual(err, "")
    assert.match(out, /20 +1 to 20 +1 /)
    assert.match(out, /20 records in 1 chain: no break\./)
    assert.strictEqual(code, 0)
  })

  it("names where a chain breaks, and fails", patience, async () => {
    const { code, err, out } = await runWith(["verify", "-"], text([...lines.toSpliced(4, 2).slice(0, -1), log]))
    assert.strictEqual(code, 1)
    assert.match(out, /BREAK -:5: chain [0-9a-f]+, records 5 to 6, should stand before it/)
    assert.match(out, /BREAK -:17: chain [0-9a-f]+, record 20, should follow it, by the log/)
    assert.match(err, /^gateway: the chain of usage records is broken \(2\)\n$/)
  })
})
