/** The gateway itself, as an operator starts it: real keys, real usage records, every cloud at the fake upstream. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { freePort, serve } from "../processes.ts"

export const root = join(import.meta.dirname, "../..")

/** The arguments with which `npm start` calls Node, so that what is measured is what people run. */
export const startArguments = (): ReadonlyArray<string> => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const [node, ...rest] = String(scripts.start).split(" ")
  if (node !== "node") throw new Error(`npm start is not a call of node any more: ${scripts.start}`)
  return rest
}

/** Creates one key and answers its secret, the longest word the command prints. */
export const createKey = (directory: string, ...limits: ReadonlyArray<string>): string => {
  const args = [join(root, "src/main.ts"), "keys", "create", "--name", "bench", ...limits]
  const { stderr, stdout, status } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    env: { PATH: process.env.PATH, GATEWAY_KEYS_FILE: join(directory, "keys.json") }
  })
  const longest = [...(stdout.match(/[\w.-]{32,}/g) ?? [])].sort((a, b) => b.length - a.length)[0]
  if (status !== 0 || longest === undefined) throw new Error(`no key: ${stderr || stdout}`)
  return longest
}

/** What a gateway needs to find its keys, its clouds at the fake upstream, and places for what it writes. */
export const gatewayEnvironment = (name: string, directory: string, upstream: number) => {
  const cloud = `http://127.0.0.1:${upstream}`
  // As the image and the unit of systemd set it.
  const trim = process.env.MALLOC_TRIM_THRESHOLD_
  return {
    PATH: process.env.PATH,
    ...(trim === undefined ? {} : { MALLOC_TRIM_THRESHOLD_: trim }),
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
    AZURE_OPENAI_API_KEY: "x"
  }
}

/** Everything is exported, and often enough that every round holds an export of the metrics. */
export const exportingTo = (collector: number) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector}`,
  OTEL_METRIC_EXPORT_INTERVAL: "2000"
})

export const startGateway = async (
  name: string,
  directory: string,
  upstream: number,
  more: Readonly<Record<string, string>> = {},
  /** Arguments for Node; with any, this process can send the gateway messages. */
  flags: ReadonlyArray<string> = []
) => {
  const port = more.GATEWAY_PORT === undefined ? await freePort() : Number(more.GATEWAY_PORT)
  const child = await serve(name, [...flags, ...startArguments()], {
    cwd: root,
    ipc: flags.length > 0,
    env: { ...gatewayEnvironment(name, directory, upstream), GATEWAY_PORT: String(port), ...more },
    log: join(directory, `${name}.log`),
    errors: join(directory, `${name}.errors`),
    url: `http://127.0.0.1:${port}/health`
  })
  return { child, port }
}
