/** Runs the gateway as its operator does: as a process, told by environment variables where telemetry goes. */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

const source = new URL("../../src/", import.meta.url).pathname

export interface GatewayProcess {
  readonly url: string
  readonly stdout: () => string
  /** The log: standard error. */
  readonly stderr: () => string
  /** The address of `/metrics`, with `GATEWAY_METRICS_PORT` set. */
  readonly metrics: () => string
  /** SIGTERM, and its exit code. */
  readonly stop: () => Promise<number | null>
}

/** Starts `serve` on a free port; nothing of this process's environment but the path reaches it. */
export const startProcess = async (env: Readonly<Record<string, string>>): Promise<GatewayProcess> => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-telemetry-"))
  const child = spawn(process.execPath, ["--import", `${source}installed.js`, `${source}main.ts`, "serve"], {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      HOME: directory,
      GATEWAY_PORT: "0",
      GATEWAY_SANDBOX_PACE: "0 millis",
      GATEWAY_DRAIN_TIMEOUT: "100 millis",
      ...env
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let stdout = ""
  let stderr = ""
  child.stdout.on("data", (chunk) => {
    stdout += chunk
  })
  child.stderr.on("data", (chunk) => {
    stderr += chunk
  })
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve))
  const matching = async (pattern: RegExp, text: () => string) => {
    const end = Date.now() + 40_000
    while (true) {
      const found = pattern.exec(text())?.[1]
      if (found !== undefined) return found
      if (Date.now() > end || child.exitCode !== null) throw new Error(`it does not listen: ${stdout}${stderr}`)
      await sleep(20)
    }
  }
  const url = await matching(/listening on (http:\S+)/, () => stdout)
  return {
    url,
    stdout: () => stdout,
    stderr: () => stderr,
    metrics: () => /metrics on (http:\S+\/metrics)/.exec(stderr)?.[1] ?? "",
    stop: async () => {
      child.kill("SIGTERM")
      const code = await exited
      rmSync(directory, { recursive: true, force: true })
      return code
    }
  }
}

/** The variables that send everything to a receiver, quickly. */
export const exportTo = (url: string): Readonly<Record<string, string>> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_BSP_SCHEDULE_DELAY: "20",
  OTEL_BLRP_SCHEDULE_DELAY: "20",
  OTEL_METRIC_EXPORT_INTERVAL: "100",
  OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test"
})

/** A body of the messages surface. */
export const message = (text: string, more: Readonly<Record<string, unknown>> = {}) => ({
  model: "claude-sonnet-4-5:il5",
  max_tokens: 300,
  messages: [{ role: "user", content: text }],
  ...more
})

let traces = 0
/** A caller's trace context, another with every call. */
export const caller = (sampled = true) => {
  const traceId = (++traces).toString(16).padStart(32, "a")
  const spanId = traces.toString(16).padStart(16, "b")
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${sampled ? "01" : "00"}` } }
}
