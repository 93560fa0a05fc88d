/** Portkey's open gateway, as published, from the bench's own `node_modules`. */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { freePort, serve } from "../processes.ts"

const root = join(import.meta.dirname, "..")
const program = join(root, "node_modules/@portkey-ai/gateway/build/start-server.js")

export const installed = (): boolean => existsSync(program)

/** Installs the locked version; its install scripts only patch its own development tools, so they are not run. */
export const install = (): boolean => {
  const command = "npm ci --no-audit --no-fund --ignore-scripts"
  const { status } = spawnSync(command, { cwd: root, shell: true, stdio: ["ignore", 2, 2] })
  return status === 0 && installed()
}

export const startPortkey = async (directory: string) => {
  const port = await freePort()
  const child = await serve("portkey", [program, `--port=${port}`, "--headless"], {
    cwd: root,
    env: { PATH: process.env.PATH, NODE_ENV: "production" },
    log: join(directory, "portkey.log"),
    url: `http://127.0.0.1:${port}/`
  })
  return { child, port }
}

/** Portkey keeps no configuration: the caller says with every request where it goes and with which credential. */
export const portkeyHeaders = (upstream: number): Readonly<Record<string, string>> => ({
  authorization: "Bearer x",
  "x-portkey-custom-host": `http://127.0.0.1:${upstream}`,
  "x-portkey-vertex-project-id": "bench",
  "x-portkey-vertex-region": "us-east5",
  "x-portkey-azure-resource-name": "bench",
  "x-portkey-azure-deployment-id": "gpt-5.1",
  "x-portkey-azure-api-version": "v1"
})

/** What a reader must know where a stream of Portkey's is missing. */
export const portkeyNote =
  "Portkey is `@portkey-ai/gateway` 1.15.2 as published. Every stream of it answers 500 on Node (`TypeError: immutable`, Portkey-AI/gateway issue 1389), so it is compared on whole replies."
