/** The gateway itself, as an operator starts it: real keys, real usage records, every cloud at the fake upstream. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { freePort, serve } from "../processes.ts"

const root = join(import.meta.dirname, "../..")
const main = join(root, "src/main.ts")

/** Creates one key and answers its secret, the longest word the command prints. */
export const createKey = (directory: string): string => {
  const { stderr, stdout, status } = spawnSync(process.execPath, [main, "keys", "create", "--name", "bench"], {
    cwd: root,
    encoding: "utf8",
    env: { PATH: process.env.PATH, GATEWAY_KEYS_FILE: join(directory, "keys.json") }
  })
  const longest = [...(stdout.match(/[\w.-]{32,}/g) ?? [])].sort((a, b) => b.length - a.length)[0]
  if (status !== 0 || longest === undefined) throw new Error(`no key: ${stderr || stdout}`)
  return longest
}

export const startGateway = async (name: string, directory: string, upstream: number, traced: boolean) => {
  const port = await freePort()
  const cloud = `http://127.0.0.1:${upstream}`
  const child = await serve(name, [main, "serve"], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      GATEWAY_PORT: String(port),
      GATEWAY_SANDBOX: "off",
      GATEWAY_KEYS_FILE: join(directory, "keys.json"),
      GATEWAY_USAGE_LOG: join(directory, `${name}-usage.jsonl`),
      GATEWAY_STATE_DIR: join(directory, `${name}-state`),
      VERTEX_PROJECT: "bench",
      VERTEX_ACCESS_TOKEN: "x",
      VERTEX_BASE_URL: cloud,
      BEDROCK_REGION: "us-gov-west-1",
      BEDROCK_BASE_URL: cloud,
      AWS_BEARER_TOKEN_BEDROCK: "x",
      AZURE_OPENAI_ENDPOINT: cloud,
      AZURE_OPENAI_API_KEY: "x",
      ...(traced
        ? { OTEL_METRICS_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none", OTEL_EXPORTER_OTLP_ENDPOINT: cloud }
        : {})
    },
    log: join(directory, `${name}.log`),
    url: `http://127.0.0.1:${port}/health`
  })
  return { child, port }
}
