/** The gateway in its sandbox, with what it writes. */
import { closeSync, openSync, readFileSync, readSync } from "node:fs"
import { join } from "node:path"
import { startGateway } from "../peers/gateway.ts"

export interface Written {
  readonly request_id: string
  readonly outcome: string
  readonly status: number | null
}

/** The fields of each record that matter here; a long run's records do not fit as text. */
const recordsOf = (file: string): ReadonlyArray<Written> => {
  const found: Array<Written> = []
  const input = openSync(file, "r")
  const buffer = Buffer.alloc(2 ** 20)
  let rest = ""
  for (let length = readSync(input, buffer); length > 0; length = readSync(input, buffer)) {
    const lines = (rest + buffer.toString("latin1", 0, length)).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      const { outcome, request_id, status } = JSON.parse(line)
      found.push({ outcome, request_id, status })
    }
  }
  closeSync(input)
  return found
}

export const sandboxGateway = async (
  directory: string,
  more: Readonly<Record<string, string>>,
  flags: ReadonlyArray<string> = []
) => {
  const none = Object.fromEntries(
    ["VERTEX_PROJECT", "BEDROCK_REGION", "AZURE_OPENAI_ENDPOINT"].map((name) => [name, ""])
  )
  const overridden = {
    VERTEX_BASE_URL: "",
    BEDROCK_BASE_URL: "",
    VERTEX_ACCESS_TOKEN: "",
    AWS_BEARER_TOKEN_BEDROCK: ""
  }
  const { child, port } = await startGateway(
    "sandboxed",
    directory,
    0,
    {
      ...none,
      ...overridden,
      AZURE_OPENAI_API_KEY: "",
      GATEWAY_SANDBOX: "on",
      GATEWAY_SANDBOX_PACE: "1 millis",
      GATEWAY_LOG_LEVEL: "error",
      GATEWAY_LOG_FORMAT: "json",
      GATEWAY_HEARTBEAT: "1 second",
      ...more
    },
    flags
  )
  return {
    child,
    port,
    records: () => recordsOf(join(directory, "sandboxed-usage.jsonl")),
    /** What is on standard error that should not be: errors, and lines that are no log. (The banner is on standard output.) */
    complaints: (): ReadonlyArray<string> =>
      readFileSync(join(directory, "sandboxed.errors"), "utf8")
        .split("\n")
        .filter((line) => line !== "" && !/^\{.*"level":"(?!error|fatal)/.test(line))
        .map((line) => `logged: ${line.replace(/"(timestamp|request_id)":"[^"]*",?/g, "").slice(0, 300)}`)
  }
}
