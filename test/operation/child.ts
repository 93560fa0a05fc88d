/** The command line as an operator runs it: a process of its own, in a directory of its own. */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

const source = new URL("../../src/", import.meta.url).pathname

type Environment = Readonly<Record<string, string>>

/** Waits until it holds; rejects after the time (milliseconds), which is a little less than a test may take. */
export const until = async (holds: () => boolean | Promise<boolean>, what: string, milliseconds = 50_000) => {
  const end = Date.now() + milliseconds
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`${what} did not happen within ${milliseconds} ms`)
    await sleep(10)
  }
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Command {
  readonly pid: number
  readonly directory: string
  readonly stdout: () => string
  readonly stderr: () => string
  /** Reads standard error no more. */
  readonly leaveStderr: () => void
  readonly kill: (signal: NodeJS.Signals) => void
  /** What it came to; its directory is gone then. */
  readonly ended: Promise<Ended>
}

/** Starts what the npm scripts start, with these variables and no others but the path. */
export const start = (args: ReadonlyArray<string>, environment: Environment = {}): Command => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-child-"))
  const child = spawn(process.execPath, ["--import", `${source}installed.js`, `${source}main.ts`, ...args], {
    cwd: directory,
    env: { PATH: process.env.PATH, GATEWAY_PORT: "0", ...environment },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text
  })
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text
  })
  const ended = new Promise<Ended>((resolve) => {
    child.once("close", (code, signal) => {
      rmSync(directory, { recursive: true, force: true })
      resolve({ code, signal, stdout, stderr })
    })
  })
  return {
    pid: child.pid ?? 0,
    directory,
    stdout: () => stdout,
    stderr: () => stderr,
    leaveStderr: () => void child.stderr.destroy(),
    kill: (signal) => void child.kill(signal),
    ended
  }
}

export interface Serving extends Command {
  readonly url: string
  readonly port: number
  /** The usage records so far; they are on standard output unless the settings say otherwise. */
  readonly records: () => ReadonlyArray<Record<string, unknown>>
  /** Ends it, if it has not ended yet. */
  readonly stop: () => Promise<Ended>
}

/** Runs `serve` until it listens. */
export const serve = async (environment: Environment = {}): Promise<Serving> => {
  const command = start(["serve"], environment)
  const address = /^(?:\{.*"message":")?listening on (https?:\/\/\S+:(\d+)) /m
  let gone = false
  void command.ended.then(() => {
    gone = true
  })
  const stop = () => {
    command.kill("SIGKILL")
    return command.ended
  }
  try {
    await until(() => gone || address.test(command.stdout()), "listening", 40_000)
    if (gone) throw new Error(`it ended: ${command.stderr()}`)
  } catch (error) {
    await stop()
    throw error
  }
  const [, url = "", port = ""] = address.exec(command.stdout()) ?? []
  return {
    ...command,
    url,
    port: Number(port),
    records: () =>
      command
        .stdout()
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line)),
    stop
  }
}

/** The process's own children: the workers. */
export const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)
