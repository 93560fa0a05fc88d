/** Child processes of the bench: started, asked, ended, and never left behind. */
import { type ChildProcess, fork, type SpawnOptions, spawn } from "node:child_process"
import { openSync, readFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"

const children = new Set<ChildProcess>()
const ending = new Set<ChildProcess>()
let stopping = false

/** Sees to it that a child does not outlive this process, and says when it ends by itself. */
export const keep = <C extends ChildProcess>(child: C, name: string): C => {
  children.add(child)
  child.once("exit", (code, signal) => {
    children.delete(child)
    if (!stopping && !ending.has(child)) process.stderr.write(`${name} ended (${code ?? signal})\n`)
  })
  return child
}

const stop = () => {
  stopping = true
  for (const child of children) child.kill("SIGKILL")
}
process.on("exit", stop)
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130))

/** One answer from a child to one message. */
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
export const start = async <A>(file: string, ...args: ReadonlyArray<string>) => {
  // Structured cloning keeps what JSON does not: a median of nothing is not a number.
  const child = keep(fork(join(import.meta.dirname, file), args, { serialization: "advanced" }), file)
  return { child, hello: await ask<A>(child) }
}

/** Ends a child that is not needed any more. */
export const end = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    ending.add(child)
    const timer = setTimeout(() => child.kill("SIGKILL"), 5_000)
    child.once("exit", () => {
      clearTimeout(timer)
      resolve()
    })
    child.kill("SIGTERM")
  })

/** A port that was free a moment ago, for programs that cannot say which one they took. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

interface Service {
  /** Files for what it writes to its standard output, and to its standard error if that is another. */
  readonly log: string
  readonly errors?: string
  readonly url: string
  /** Whether it can be sent messages. */
  readonly ipc?: boolean
}

/** Starts a program that serves HTTP and waits, at most 30 seconds, until it answers `url`. */
export const serve = async (
  name: string,
  args: ReadonlyArray<string>,
  { ipc, log, errors = log, url, ...options }: SpawnOptions & Service
): Promise<ChildProcess> => {
  const [out, err] = [openSync(log, "a"), openSync(errors, "a")]
  const child = keep(
    spawn(process.execPath, args, { ...options, stdio: ["ignore", out, err, ...(ipc ? ["ipc" as const] : [])] }),
    name
  )
  const until = Date.now() + 30_000
  while (Date.now() < until && child.exitCode === null) {
    const answers = await fetch(url).then(
      (reply) => reply.arrayBuffer().then(() => true),
      () => false
    )
    if (answers) return child
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  child.kill("SIGKILL")
  const said = readFileSync(errors, "utf8").trim().split("\n").slice(-5).join("\n")
  throw new Error(`${name} did not start: ${said}`)
}
