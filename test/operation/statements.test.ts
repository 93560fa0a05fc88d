/** With `GATEWAY_LOG_FORMAT=json`, every line on standard output and standard error is an object of JSON. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { type Serving, serve, start, until } from "./child.ts"
import { sharedCommands } from "./commands.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-statements-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Line = ReturnType<typeof JSON.parse>
const linesOf = (text: string): ReadonlyArray<Line> => (text.match(/.+/g) ?? []).map((line) => JSON.parse(line))
const json = { GATEWAY_LOG_FORMAT: "json" }
const preload = (code: string) => ({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` })

const models = ({ url }: Serving) => fetch(`${url}/v1/models`, { headers: { "x-api-key": "sandbox-key" } })

describe("GATEWAY_LOG_FORMAT=json", () => {
  it("makes JSON of all that a gateway of two processes says, from its start to its end", async () => {
    const warn = 'setTimeout(() => process.emitWarning("look\\nhere"), 50).unref()'
    const gateway = await serve({ ...json, GATEWAY_WORKERS: "2", GATEWAY_PROT: "1", ...preload(warn) })
    await (await models(gateway)).text()
    await until(() => gateway.stderr().includes("look"), "the warning")
    gateway.kill("SIGTERM")
    const { stderr, stdout } = await gateway.ended
    const out = linesOf(stdout)
    assert.isTrue(out.some(({ level, message }) => level === "info" && /^listening on http:\/\//.test(message)))
    assert.isTrue(out.some(({ message }) => /This is the sandbox/.test(message)))
    assert.isTrue(out.some(({ surface }) => surface === "models"))
    const log = linesOf(stderr)
    for (const { level, message, timestamp } of log) assert.isString(level && message && timestamp)
    assert.isTrue(log.some(({ level, message }) => level === "warn" && message === "Warning: look\nhere"))
    assert.isTrue(log.some(({ message }) => /GATEWAY_PROT/.test(message)))
  }, 60_000)

  const command = sharedCommands()
  const alone: typeof command = (args, environment) => start(args, environment).ended
  const broken = { GATEWAY_KEYS_FILE: join(folder, "broken.json") }
  it.each([
    ["a setting that is wrong", command, { GATEWAY_PORT: "x" }, /GATEWAY_PORT/],
    ["a file that is broken", command, broken, /not a key file/],
    // Workers are processes of their own.
    ["a worker that does not start", alone, { GATEWAY_WORKERS: "2", ...broken }, /not a key/]
  ] as const)(
    "makes JSON of %s",
    async (_, run, environment, why) => {
      writeFileSync(broken.GATEWAY_KEYS_FILE, "{")
      const { code, stderr, stdout } = await run(["serve"], { ...json, ...environment })
      assert.strictEqual(code, 1)
      linesOf(stdout)
      const fatal = linesOf(stderr).filter(({ level }) => level === "fatal")
      assert.lengthOf(fatal, 1)
      assert.match(JSON.stringify(fatal[0]), why)
    },
    60_000
  )

  it("makes JSON of a command that is called wrong", async () => {
    const { stderr } = await command(["keys", "lst"], json)
    const [line] = linesOf(stderr)
    assert.deepInclude(line, { level: "fatal" })
    assert.match(line.message, /^Unknown subcommand "lst".*Help: /)
  })

  it("makes JSON of what one process says, which serves on when the reader of its log is gone", async () => {
    const gateway = await serve(json)
    try {
      gateway.leaveStderr()
      // Each has a line in the log.
      for (let n = 0; n < 3; n++) {
        const reply = await models(gateway)
        assert.strictEqual(reply.status, 200)
        await reply.text()
        await until(() => gateway.records().filter(({ surface }) => surface === "models").length > n, "the record")
      }
      gateway.kill("SIGTERM")
      const { code, stdout } = await gateway.ended
      assert.strictEqual(code, 0)
      linesOf(stdout)
    } finally {
      await gateway.stop()
    }
  }, 60_000)
})
