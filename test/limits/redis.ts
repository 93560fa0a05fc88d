/** A Redis server for tests: the one at `GATEWAY_TEST_REDIS_URL`, or one of its own when `redis-server` is on the path. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface TestRedis {
  readonly url: string
  /** The server's process, when it is the test's own and may be stopped. */
  readonly process: ChildProcess | undefined
  readonly stop: () => Promise<void>
}

const given = process.env.GATEWAY_TEST_REDIS_URL
const installed = spawnSync("redis-server", ["--version"]).status === 0

/** Whether tests may start a server of their own, to stop it. */
export const hasOwnRedis = installed
export const hasRedis = given !== undefined || installed
if (!hasRedis) console.warn("Redis tests are skipped: set GATEWAY_TEST_REDIS_URL or install redis-server")

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const ready = (child: ChildProcess) =>
  new Promise<boolean>((resolve) => {
    let output = ""
    child.stdout?.on("data", (data) => {
      output += String(data)
      if (output.includes("Ready to accept connections")) resolve(true)
    })
    child.once("exit", () => resolve(false))
  })

/** Starts a server; on a port that is taken meanwhile, another one. */
export const startRedis = async (port?: number): Promise<TestRedis> => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-redis-"))
  for (let attempt = 0; attempt < 5; attempt++) {
    const number = port ?? (await freePort())
    const child = spawn(
      "redis-server",
      ["--port", String(number), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory],
      { stdio: ["ignore", "pipe", "ignore"] }
    )
    if (!(await ready(child))) continue
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
    return {
      url: `redis://127.0.0.1:${number}`,
      process: child,
      stop: async () => {
        child.kill("SIGKILL")
        await exited
        rmSync(directory, { recursive: true, force: true })
      }
    }
  }
  throw new Error("redis-server does not start")
}

/** The server that was given, else one of its own. */
export const testRedis = async (): Promise<TestRedis> =>
  given === undefined ? startRedis() : { url: given, process: undefined, stop: async () => {} }
