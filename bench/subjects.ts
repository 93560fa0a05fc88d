/** Who is measured. Each starts when it is first needed and ends when nothing needs it any more, so that few run at a time. */
import type { ChildProcess } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Collected } from "./collector.ts"
import { createKey, exportingTo, startGateway } from "./peers/gateway.ts"
import { install, installed, portkeyHeaders, portkeyNote, startPortkey } from "./peers/portkey.ts"
import { ask, end, start } from "./processes.ts"
import type { Subject } from "./scenarios.ts"

export interface Running {
  readonly child: ChildProcess
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
}

const number = (value: number) => value.toLocaleString("en-US")

interface Listening {
  readonly port: number
}

export interface Options {
  readonly directory: string
  readonly upstream: { readonly child: ChildProcess; readonly port: number }
  /** Whether a peer that is missing may be installed. */
  readonly mayInstall: boolean
}

export const makeSubjects = ({ directory, mayInstall, upstream }: Options) => {
  const running = new Map<Subject, Running>()
  const absent = new Map<Subject, string>()
  const notes = new Set<string>()
  let key: string | undefined
  let collector: Awaited<ReturnType<typeof start<Listening>>> | undefined

  const bench = async (file: string): Promise<Running> => {
    const { child, hello } = await start<Listening>(file, String(upstream.port))
    return { child, port: hello.port, headers: {} }
  }
  const gateway = async (name: string, more?: Readonly<Record<string, string>>): Promise<Running> => {
    key ??= createKey(directory)
    return { ...(await startGateway(name, directory, upstream.port, more)), headers: { "x-api-key": key } }
  }
  const begin: Record<Subject, () => Promise<Running>> = {
    upstream: async () => ({ ...upstream, headers: {} }),
    proxy: () => bench("proxy.ts"),
    gateway: () => gateway("gateway"),
    exporting: async () => {
      collector ??= await start<Listening>("collector.ts")
      return gateway("exporting", exportingTo(collector.hello.port))
    },
    portkey: async () => {
      if (!installed() && !(mayInstall && install())) throw new Error("not installed (npm ci in bench/)")
      notes.add(portkeyNote)
      return { ...(await startPortkey(directory)), headers: portkeyHeaders(upstream.port) }
    }
  }

  return {
    /** The subject, or why there is none. */
    get: async (subject: Subject): Promise<Running | string> => {
      const known = running.get(subject) ?? absent.get(subject)
      if (known !== undefined) return known
      try {
        const one = await begin[subject]()
        running.set(subject, one)
        return one
      } catch (error) {
        const said = String(error)
        const why = said.match(/\w*Error: .*$/gm)?.at(-1) ?? said
        absent.set(subject, why)
        return why
      }
    },
    /** Ends all but these. */
    keep: async (needed: ReadonlySet<Subject>) => {
      for (const [subject, { child }] of running) {
        if (needed.has(subject) || subject === "upstream") continue
        running.delete(subject)
        await end(child)
      }
    },
    /** What a reader must know about the subjects that ran. */
    notes: async (): Promise<ReadonlyArray<string>> => {
      if (collector === undefined) return [...notes]
      const { logs, metrics, records, spans, traces } = await ask<Collected>(collector.child, "collected")
      const usage = readFileSync(join(directory, "exporting-usage.jsonl"))
      const requests = usage.reduce((lines, byte) => lines + (byte === 10 ? 1 : 0), 0)
      const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
      const missing = Object.entries({ traces, metrics, logs }).flatMap(([name, bytes]) => (bytes === 0 ? [name] : []))
      return [
        ...notes,
        missing.length > 0
          ? `**No ${missing.join(" and no ")} reached the collector**: the rows about telemetry say little.`
          : `Of ${number(requests)} requests the collector took ${mb(traces)} of traces (${number(spans)} spans; two a request if none was dropped), ${mb(metrics)} of metrics and ${mb(logs)} of logs (${number(records)} records).`
      ]
    }
  }
}
