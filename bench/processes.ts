/** Child processes of the bench: started, asked, ended, and never left behind. */
import { type ChildProcess, fork, type SpawnOptions, spawn } from "node:child_process"
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

const children = new Set<ChildProcess>()
const ending = new Set<ChildProcess>()

/** A directory for what the processes write, as long as this process lives. */
export const makeDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-bench-"))
  process.on("exit", () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
  return directory
}

let stopping = false
process.on("exit", () => {
  stopping = true
  for (const child of children) child.kill("SIGKILL")
})
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130))

/** A child does not outlive this process; an end that was not asked for is reported. */
const keep = <C extends ChildProcess>(child: C, name: string): C => {
  children.add(child)
  child.once("exit", (code, signal) => {
    children.delete(child)
    if (!stopping && !ending.has(child)) process.stderr.write(`${name} ended (${code ?? signal})\n`)
  })
  return child
}

/** A child's answer to a message. */
export const ask = <A>(child: ChildProcess, message?: object | string): Promise<A> =>
  new Promise((resolve, reject) => {
    const ended = () => reject(new Error("a process of the bench ended early"))
    child.once("exit", ended)
    child.once("message", (answer) => {
      child.off("exit", ended)
      resolve(answer as A)
    })
    if (message !== undefined) child.send(message)
  })

/** Starts a file of the bench and waits for its first message. */
export const start = async (file: string, ...args: ReadonlyArray<string>) => {
  // Structured cloning keeps what JSON does not: the median of nothing is not a number.
  const child = keep(fork(join(import.meta.dirname, file), args, { serialization: "advanced" }), file)
  const { port = 0 } = await ask<{ readonly port?: number }>(child)
  return { child, port }
}

export const end = (...those: ReadonlyArray<ChildProcess>): Promise<unknown> =>
  Promise.all(
    those.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      ending.add(child)
      const timer = setTimeout(() => child.kill("SIGKILL"), 5_000)
      await new Promise((resolve) => child.once("exit", resolve).kill("SIGTERM"))
      clearTimeout(timer)
    })
  )

/** A port that was free a moment ago, for programs that do not report the one they took. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

interface Service extends SpawnOptions {
  /** Files for its standard output, and for its standard error if that is another. */
  readonly log: string
  readonly errors?: string
  readonly url: string
  readonly ipc?: boolean
}

/** Starts a program that serves HTTP and waits, at most 30 seconds, until it answers `url`. */
export const serve = async (name: string, args: ReadonlyArray<string>, service: Service): Promise<ChildProcess> => {
  const { ipc, log, errors = log, url, ...options } = service
  const [out, err] = [openSync(log, "a"), openSync(errors, "a")]
  const stdio: SpawnOptions["stdio"] = ["ignore", out, err, ...(ipc ? ["ipc" as const] : [])]
  const child = keep(spawn(process.execPath, args, { ...options, stdio }), name)
  for (const until = Date.now() + 30_000; Date.now() < until && child.exitCode === null; await sleep(10)) {
    const answers = await fetch(url).then(
      (reply) => reply.arrayBuffer().then(() => true),
      () => false
    )
    if (answers) return child
  }
  child.kill("SIGKILL")
  throw new Error(`${name} did not start: ${readFileSync(errors, "utf8").trim().split("\n").slice(-5).join("\n")}`)
}
