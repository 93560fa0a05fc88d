import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { until } from "./child.ts"

const root = new URL("../../", import.meta.url).pathname

describe.skipIf(process.platform !== "linux").concurrent("the end of npm start", () => {
  it.each(["SIGTERM", "SIGKILL"] as const)(
    "by %s ends the gateway",
    async (signal) => {
      const directory = mkdtempSync(join(tmpdir(), "gateway-npm-"))
      const npm = spawn("npm", ["start"], {
        cwd: root,
        env: {
          PATH: process.env.PATH,
          HOME: directory,
          GATEWAY_PORT: "0",
          GATEWAY_SANDBOX: "on",
          GATEWAY_USAGE_LOG: join(directory, "usage.jsonl")
        },
        stdio: ["ignore", "pipe", "pipe"]
      })
      let shown = ""
      npm.stdout.on("data", (text) => {
        shown += text
      })
      // The streams close when the last process that has them has ended.
      let over = false
      npm.once("close", () => {
        over = true
      })
      const address = /^listening on (\S+) /m
      try {
        await until(() => over || address.test(shown), "listening", 20_000)
        const url = address.exec(shown)?.[1] ?? ""
        assert.strictEqual((await fetch(`${url}/health`)).status, 200)
        npm.kill(signal)
        await until(() => over, "the end", 10_000)
        assert.strictEqual(await fetch(url).catch(() => "gone"), "gone")
      } finally {
        npm.kill("SIGKILL")
        rmSync(directory, { recursive: true, force: true })
      }
    },
    40_000
  )
})
