/** The gateway as `npm start` starts it, with memory as the systemd unit has it: with keys, usage records and logs, and every cloud at the fake one. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { freePort, serve } from "./processes.ts"

const here = join(import.meta.dirname, "..")

/** The arguments of Node in the `start` script. */
const startArguments = (checkout: string): ReadonlyArray<string> => {
  const { scripts } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"))
  const [node, ...rest] = String(scripts.start).split(" ")
  if (node !== "node") throw new Error(`npm start does not call node: ${scripts.start}`)
  return rest
}

/** Creates a key and answers its secret, the longest word that the command prints. */
export const createKey = (directory: string, ...limits: ReadonlyArray<string>): string => {
  const args = [join(here, "src/main.ts"), "keys", "create", "--name", "bench", ...limits]
  const { stderr, stdout, status } = spawnSync(process.execPath, args, {
    cwd: here,
    encoding: "utf8",
    env: { PATH: process.env.PATH, GATEWAY_KEYS_FILE: join(directory, "keys.json") }
  })
  const longest = (stdout.match(/[\w.-]{32,}/g) ?? []).sort((a, b) => b.length - a.length)[0]
  if (status !== 0 || longest === undefined) throw new Error(`no key: ${stderr || stdout}`)
  return longest
}

const clouds = (port: number) => {
  const cloud = `http://127.0.0.1:${port}`
  return {
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

/** How the C library keeps memory, by the systemd unit of a checkout. */
const allocation = (checkout: string): Readonly<Record<string, string>> => {
  const unit = readFileSync(join(checkout, "deploy/systemd/government-model-gateway.service"), "utf8")
  return Object.fromEntries(unit.matchAll(/^Environment=(MALLOC_\w+)=(.*)$/gm).map(([, name, value]) => [name, value]))
}

export interface Options {
  /** Names the files that it writes. */
  readonly name?: string
  readonly directory: string
  /** The port of the fake cloud; without one the gateway is in its sandbox. */
  readonly cloud?: number
  readonly env?: Readonly<Record<string, string>>
  /** Arguments of Node; with some, the gateway can be sent messages. */
  readonly flags?: ReadonlyArray<string>
  readonly checkout?: string
}

export const startGateway = async ({
  checkout = here,
  cloud,
  directory,
  env = {},
  flags = [],
  name = "gateway"
}: Options) => {
  const port = Number(env.GATEWAY_PORT ?? (await freePort()))
  const child = await serve(name, [...flags, ...startArguments(checkout)], {
    cwd: checkout,
    ipc: flags.length > 0,
    env: {
      PATH: process.env.PATH,
      ...allocation(checkout),
      GATEWAY_PORT: String(port),
      GATEWAY_SANDBOX: cloud === undefined ? "on" : "off",
      GATEWAY_KEYS_FILE: join(directory, "keys.json"),
      GATEWAY_USAGE_LOG: join(directory, `${name}-usage.jsonl`),
      GATEWAY_STATE_DIR: join(directory, `${name}-state`),
      ...(cloud === undefined ? {} : clouds(cloud)),
      ...env
    },
    log: join(directory, `${name}.log`),
    errors: join(directory, `${name}.errors`),
    url: `http://127.0.0.1:${port}/health`
  })
  return { child, port }
}
