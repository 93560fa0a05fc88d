/**
 * Commands as an operator runs them, but in one process for all of a file: most of a command's time is the start of its process.
 * Signals, standard input and outputs that cannot be written need a process of their own (`start`).
 */
import { type ChildProcess, fork } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { afterAll } from "@effect/vitest"
import type { Ended } from "./child.ts"

export interface Sent {
  readonly args: ReadonlyArray<string>
  readonly directory: string
  readonly environment: Record<string, string>
}

/** What comes before the end of a command, and its exit code. */
const upToEnd = (output: Readable | null): Promise<readonly [text: string, code: number]> =>
  new Promise((resolve) => {
    let text = ""
    const take = (piece: string) => {
      text += piece
      const [before = "", code, after] = text.split("\0")
      if (after === undefined) return
      output?.off("data", take)
      resolve([before, Number(code)])
    }
    output?.setEncoding("utf8").on("data", take)
  })

/** Runs commands one after the other, with these variables and no others but the path, each in an empty directory unless one is given. */
export const sharedCommands = () => {
  let child: ChildProcess | undefined
  let last: Promise<unknown> = Promise.resolve()
  afterAll(() => void child?.kill())

  const runNow = async (args: ReadonlyArray<string>, variables: Readonly<Record<string, string>>, given?: string) => {
    child ??= fork(join(import.meta.dirname, "several.ts"), {
      execArgv: ["--import", new URL("../../src/installed.js", import.meta.url).href],
      env: { PATH: process.env.PATH },
      stdio: ["ignore", "pipe", "pipe", "ipc"]
    })
    const directory = given ?? mkdtempSync(join(tmpdir(), "gateway-command-"))
    const ended = Promise.all([upToEnd(child.stdout), upToEnd(child.stderr)])
    const environment = { PATH: process.env.PATH ?? "", GATEWAY_PORT: "0", ...variables }
    child.send({ args, directory, environment } satisfies Sent)
    const [[stdout, code], [stderr]] = await ended
    if (given === undefined) rmSync(directory, { recursive: true, force: true })
    return { code, stdout, stderr }
  }

  return (
    args: ReadonlyArray<string>,
    environment: Readonly<Record<string, string>> = {},
    directory?: string
  ): Promise<Omit<Ended, "signal">> => {
    const ended = last.then(() => runNow(args, environment, directory))
    last = ended.catch(() => {})
    return ended
  }
}
