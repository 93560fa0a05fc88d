/** What commands say of wrong calls, and of an answer that cannot be written. */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, closeSync, constants, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { start, until } from "../operation/child.ts"
import { sharedCommands } from "../operation/commands.ts"
import { keysFileWith } from "../operation/keysFile.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-output-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const command = sharedCommands()

describe("a command that is called wrong", () => {
  it.each([
    ["nope", /^gateway: Unknown subcommand "nope" .* Help: npm run gateway -- --help\n$/],
    ["keys create", /^gateway: Missing required flag: --name\. Help: npm run gateway -- keys create --help\n$/],
    ["serve --log-level debug", /^gateway: Unrecognized flag: --log-level .* Help: npm run gateway -- serve --help\n$/],
    ["keys create --nmae x", /^gateway: Unrecognized flag: --nmae .*--name.* Help: .*\n$/],
    ["keys create --name a --name b", /^gateway: Invalid value for flag --name: .*at most 1.*\n$/],
    ["usage --format x", /^gateway: .*--format: "x".*"csv".* Help: npm run gateway -- usage --help\n$/],
    [
      "catalog check none.json",
      /^gateway: none\.json is not a usable catalog:\n {2}it cannot be read: there is no such file\n$/
    ],
    // As of a variable that the shell has not set.
    ["usage ", /^gateway: Invalid value for argument <FILE>: ""\. Expected: the name of a file.* Help: .*\n$/],
    ["catalog check --overlay ", /^gateway: Missing value for flag --overlay\. Expected: the name of a file.*\n$/],
    ["doctor more", /^gateway: Unexpected positional argument: "more"\. Help: .*\n$/]
  ])("says so in one line on standard error, and what helps: %s", async (args, expected) => {
    const { code, stderr, stdout } = await command(args.split(" "))
    assert.deepStrictEqual([code, stdout], [1, ""])
    assert.match(stderr, expected)
  })

  it.each([
    ["keys create", "--name string"],
    ["catalog schema", "catalog, or overlay"]
  ])("prints help that was asked for as its answer: %s", async (args, expected) => {
    const { code, stderr, stdout } = await command([...args.split(" "), "--help"])
    assert.deepStrictEqual([code, stderr], [0, ""])
    assert.include(stdout, expected)
  })
})

it("a command says that its directory was removed", () => {
  const gone = mkdtempSync(join(folder, "gone-"))
  const main = new URL("../../src/main.ts", import.meta.url).pathname
  const script = `rmdir "${gone}"; exec "${process.execPath}" "${main}" usage records.jsonl`
  const { status, stderr } = spawnSync("sh", ["-c", script], { cwd: gone, encoding: "utf8" })
  assert.deepStrictEqual(
    [status, stderr],
    [1, "gateway: the directory in which this runs was removed: change to another\n"]
  )
})

describe("what a terminal would obey", () => {
  const { file } = keysFileWith(folder, { key_1: { name: "\u001b[31mred", owner: "a\nb" } })
  chmodSync(file, 0o600)
  it.each([
    ["catalog", "check", "\u001b[2J.json"],
    ["keys", "list"],
    ["keys", "set", "key_1", "--rpm", "5"],
    ["keys", "revoke", "\u009b2J"],
    ["\u001b[31m"]
  ])("is escaped where it is quoted: %s %s", async (...args) => {
    const { stderr, stdout } = await command(args, { GATEWAY_KEYS_FILE: file })
    assert.match(stdout + stderr, /\\u00(1b|9b)/)
    assert.notMatch(stdout + stderr, /[^\P{Cc}\n]/u)
    assert.notMatch(stdout, /^b /m)
  })
})

describe("a command that a signal ends", () => {
  it("has not succeeded", async () => {
    const main = new URL("../../src/main.ts", import.meta.url).pathname
    const child = spawn(process.execPath, [main, "usage", "verify", "-"], { stdio: ["pipe", "ignore", "ignore"] })
    // More than a pipe holds, so it is being read.
    await new Promise((resolve) => child.stdin.write("x".repeat(1 << 18), resolve))
    child.kill("SIGTERM")
    assert.deepStrictEqual(await once(child, "close"), [130, null])
  })

  it("does not wait on for the writer of a pipe", async () => {
    const pipe = join(folder, "pipe")
    execFileSync("mkfifo", [pipe])
    const { ended, kill } = start(["usage", pipe])
    const { O_NONBLOCK, O_WRONLY } = constants
    let writer: FileHandle | undefined
    await until(async () => {
      writer = await open(pipe, O_WRONLY | O_NONBLOCK).catch(() => undefined)
      return writer !== undefined
    }, "reading the pipe")
    kill("SIGINT")
    assert.strictEqual((await ended).code, 130)
    await writer?.close()
  })

  it("has printed and recorded what it changed: no secret is lost", async () => {
    // A Redis that never answers is waited for.
    const silent = createServer().listen(0, "127.0.0.1")
    await once(silent, "listening")
    const asked = once(silent, "connection")
    const audit = join(folder, "ended.jsonl")
    const environment = { GATEWAY_KEYS_FILE: join(folder, "ended.json"), GATEWAY_AUDIT_LOG: audit }
    const { stdout: created } = await command(["keys", "create", "--name", "x"], environment)
    const { ended, kill } = start(["keys", "rotate", /key_\w+/.exec(created)?.[0] ?? "", "--overlap", "0"], {
      ...environment,
      GATEWAY_REDIS_URL: `redis://127.0.0.1:${Object(silent.address()).port}`
    })
    await asked
    kill("SIGHUP")
    const { code, stdout } = await ended
    silent.close()
    assert.strictEqual(code, 130)
    assert.match(stdout, /\n {2}gmg_[\w-]{43}\n.*Replicas were not notified: this command was ended\./s)
    assert.include(readFileSync(audit, "utf8"), "key.rotated")
  })
})

describe.runIf(existsSync("/dev/full"))("an answer that cannot be written", () => {
  const to = (path: string, args: string) => {
    const output = openSync(path, "w")
    const main = new URL("../../src/main.ts", import.meta.url).pathname
    const options = { cwd: folder, env: { PATH: process.env.PATH }, encoding: "utf8" } as const
    const ended = spawnSync(process.execPath, [main, ...args.split(" ")], {
      ...options,
      stdio: ["ignore", output, "pipe"]
    })
    closeSync(output)
    return ended
  }

  it.each(["catalog schema", "keys create --name x"])("is a failure: %s", (args) => {
    const { status, stderr } = to("/dev/full", args)
    assert.strictEqual(status, 1)
    assert.match(stderr, /^gateway: cannot write standard output: the disk is full: ENOSPC.*\n$/)
  })

  it("is none where its reader has left", () => {
    const main = new URL("../../src/main.ts", import.meta.url).pathname
    const piped = `set -o pipefail; "${process.execPath}" "${main}" catalog check | true`
    const { status, stderr } = spawnSync("bash", ["-c", piped], { cwd: folder, encoding: "utf8" })
    assert.deepStrictEqual([status, stderr], [0, ""])
  })
})
