/** Starts the real server on a free loopback port, with settings of its own and clouds that a test controls. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Context, Effect, Exit, Layer, Logger, Option, References, Scope } from "effect"
import { HttpServer } from "effect/http"
import { loadCatalog } from "../../src/catalog/CatalogStore.ts"
import { Drain } from "../../src/http/Drain.ts"
import { gatewayLayer } from "../../src/Server.ts"
import { load } from "../../src/Settings.ts"
import type { Call } from "../../src/sandbox/http.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"

export interface GatewayOptions {
  /**
   * Environment variables, as an operator would set them; they go over the defaults of tests. With `VERTEX_…`,
   * `BEDROCK_…` or `AZURE_OPENAI_…` among them (see `cloudsAt`) these clouds are used, else the sandbox.
   */
  readonly settings?: Readonly<Record<string, string>>
  /** Milliseconds between the events of the sandbox's streams; 0 by default. */
  readonly pace?: number
  /** `/docs`, `/openapi.json`; off by default. */
  readonly docs?: boolean
  /** Whether `sandbox-key` works; by default where no `GATEWAY_KEYS_FILE` is set. */
  readonly sandbox?: boolean
}

export interface Gateway {
  /** `http://127.0.0.1:port` */
  readonly url: string
  readonly port: number
  /** The sandbox's call log; empty with other clouds. */
  readonly calls: () => ReadonlyArray<Call>
  /** The usage records that have been written so far. */
  readonly records: () => ReadonlyArray<Record<string, unknown>>
  /** Log lines at all levels, with their annotations and causes, as one text each. */
  readonly logs: ReadonlyArray<string>
  /** What SIGTERM does first: `/health` answers 503. */
  readonly drain: () => void
  /** Stops the server; streams that are open end after the drain timeout (50 ms unless set). */
  readonly stop: () => Promise<void>
}

const cloud = /^(VERTEX|BEDROCK|AZURE_OPENAI)_/

const collect = (lines: Array<string>) =>
  Logger.layer([
    Logger.make(({ cause, fiber, logLevel, message }) => {
      const fields = fiber.getRef(References.CurrentLogAnnotations)
      const why = cause.reasons.length === 0 ? "" : ` ${Cause.pretty(cause)}`
      lines.push(`${logLevel} ${[message].flat().join(" ")} ${JSON.stringify(fields)}${why}`)
    })
  ])

const simulated = Effect.fnUntraced(function* (
  pace: number,
  { GATEWAY_CATALOG_FILE, GATEWAY_CATALOG_OVERLAY }: Readonly<Record<string, string>>,
  onCall: (call: Call) => void
) {
  const catalog = yield* loadCatalog({
    catalogFile: Option.fromNullishOr(GATEWAY_CATALOG_FILE),
    catalogOverlay: Option.fromNullishOr(GATEWAY_CATALOG_OVERLAY)
  })
  return Context.get(yield* Layer.build(Sandbox.layer({ pace, catalog: () => catalog, onCall })), Sandbox)
})

const build = Effect.fnUntraced(function* (options: GatewayOptions, directory: string) {
  const logs: Array<string> = []
  const calls: Array<Call> = []
  const note = (call: Call) => calls.push(call)
  const defaults = {
    GATEWAY_PORT: "0",
    GATEWAY_DRAIN_TIMEOUT: "50 millis",
    GATEWAY_USAGE_LOG: join(directory, "usage.jsonl"),
    GATEWAY_STATE_DIR: join(directory, "state"),
    GATEWAY_KEYS_FILE: join(directory, "keys.json"),
    GATEWAY_DOCS: options.docs === true ? "public" : "off"
  }
  const given = options.settings ?? {}
  const own = Object.keys(given).some((name) => cloud.test(name))
  const sandbox = own ? undefined : yield* simulated(options.pace ?? 0, given, note)
  const loaded = yield* load({ ...defaults, ...sandbox?.environment, ...given })

  const layer = gatewayLayer({
    settings: loaded.gateway,
    clouds: { ...loaded.clouds, simulated: sandbox !== undefined },
    sandbox: options.sandbox ?? given.GATEWAY_KEYS_FILE === undefined
  }).pipe(Layer.provide(collect(logs)), Layer.provide(Layer.succeed(References.MinimumLogLevel, "Trace")))
  const context = yield* Layer.build(Layer.fresh(layer))
  const { address } = Context.get(context, HttpServer.HttpServer)
  if (address._tag === "UnixPathAddress") return yield* Effect.die("a gateway under test listens on a port")
  const { begin } = Context.get(context, Drain)
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    calls: () => [...calls],
    records: () => recordsIn(loaded.gateway.usageLog),
    logs,
    drain: () => Effect.runSync(begin)
  }
})

const recordsIn = (file: string): ReadonlyArray<Record<string, unknown>> => {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line))
      .filter((line) => !("audit" in line))
  } catch {
    return []
  }
}

/** The usage record of a request, which is written when it is over. */
export const recordOf = async (gateway: Pick<Gateway, "records">, id: string | null) => {
  for (let n = 0; n < 500; n++) {
    const found = gateway.records().find((record) => record.request_id === id)
    if (found !== undefined) return found
    await sleep(10)
  }
  throw new Error("there is no record")
}

// Effect's terminal listens to standard input, once for each gateway: tests have more of them in one process than Node warns of.
process.stdin.setMaxListeners(0)

/** Starts a gateway; `stop` it when done. The key is `sandbox-key` unless `GATEWAY_KEYS_FILE` is set. */
export const startGateway = async (options: GatewayOptions = {}): Promise<Gateway> => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-test-"))
  const scope = Scope.makeUnsafe()
  const started = build(options, directory).pipe(Scope.provide(scope), Effect.provide(NodeServices.layer))
  const stop = async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    return { ...(await Effect.runPromise(started)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The same for Effect code: the gateway stops with the scope. */
export const gateway = (options: GatewayOptions = {}): Effect.Effect<Gateway, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => startGateway(options)),
    ({ stop }) => Effect.promise(stop)
  )

/** Settings that point all three clouds at one address, with static credentials. */
export const cloudsAt = (url: string): Readonly<Record<string, string>> => ({
  VERTEX_PROJECT: "secret-project",
  VERTEX_ACCESS_TOKEN: "ya29.secret-vertex-token",
  VERTEX_BASE_URL: url,
  BEDROCK_REGION: "us-gov-west-1",
  BEDROCK_BASE_URL: url,
  AWS_BEARER_TOKEN_BEDROCK: "bedrock-api-key-secret",
  AZURE_OPENAI_ENDPOINT: url,
  AZURE_OPENAI_API_KEY: "azure-secret-key"
})
