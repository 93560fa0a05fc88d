/** Portkey's open gateway as published, from the bench's own `node_modules`. */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { freePort, serve } from "./processes.ts"

const cwd = import.meta.dirname
const program = join(cwd, "node_modules/@portkey-ai/gateway/build/start-server.js")

/** Installs the locked version where it is missing. Its install scripts patch its development tools only, so they are not run. */
export const startPortkey = async (directory: string) => {
  if (!existsSync(program)) {
    spawnSync("npm ci --no-audit --no-fund --ignore-scripts", { cwd, shell: true, stdio: ["ignore", 2, 2] })
  }
  const port = await freePort()
  const child = await serve("portkey", [program, `--port=${port}`, "--headless"], {
    cwd,
    env: { PATH: process.env.PATH, NODE_ENV: "production" },
    log: join(directory, "portkey.log"),
    url: `http://127.0.0.1:${port}/`
  })
  return { child, port }
}

/** Portkey keeps no configuration: each request carries where it goes and with which credential. */
export const portkeyHeaders = (cloud: number): Readonly<Record<string, string>> => ({
  authorization: "Bearer x",
  "x-portkey-custom-host": `http://127.0.0.1:${cloud}`,
  "x-portkey-vertex-project-id": "bench",
  "x-portkey-vertex-region": "us-east5",
  "x-portkey-azure-resource-name": "bench",
  "x-portkey-azure-deployment-id": "gpt-5.1",
  "x-portkey-azure-api-version": "v1"
})
