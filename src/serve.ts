/**
 * `serve`: settings, sandbox where no cloud is configured, the server or its workers, and the way down, also where npm has ended:
 * its signals reach the shell between the two, and it keeps them.
 */
import { readFileSync } from "node:fs"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Console, Context, Duration, Effect, Layer, Option, Record } from "effect"
import type { Catalog } from "./catalog/Catalog.ts"
import { type CatalogFiles, leftOutLines, loadCatalog } from "./catalog/CatalogStore.ts"
import { configuresCloud } from "./catalog/clouds.ts"
import { firstChatId, requestable } from "./catalog/Resolver.ts"
import { cryptoFacts, describeCrypto, requireFips } from "./fips.ts"
import { readCertificates } from "./identity/certificate.ts"
import { tooFewFiles } from "./openFiles.ts"
import { refusePlainHttp } from "./plainHttp.ts"
import { applyProxyRule, shownProxy } from "./proxy.ts"
import { environment, load } from "./Settings.ts"
import {
  activeClouds,
  declarationsOf,
  loopbacksOf,
  loopbackWarning,
  requireCloud,
  servesSandbox,
  sitesOf
} from "./settings/clouds.ts"
import { inAddress } from "./settings/fields.ts"
import { crash, statement } from "./statements.ts"
import { logsLayer } from "./telemetry/logs.ts"
import { applyTlsPolicy } from "./tlsPolicy.ts"
import { idleSettingLines, unknownSettingLines } from "./unknownSettings.ts"
import { rephrase } from "./wire/OperatorError.ts"
import { isWorker, reportReady, runWorkers } from "./workers.ts"

/** What npm runs a script in; some of them become the script's own process, and are then not there. */
const shell = /^(ba|da|a|k|z)?sh$/

/** The process's parent, and where that is a shell on Linux its parent, which is npm: a shell stays when npm is killed. */
const ancestors = (): string => {
  const { ppid } = process
  try {
    // The command's name may hold anything; behind it come the state and the parent (proc_pid_stat(5)).
    const stat = readFileSync(`/proc/${ppid}/stat`, "latin1")
    const end = stat.lastIndexOf(")")
    const name = stat.slice(stat.indexOf("(") + 1, end)
    return shell.test(name) ? `${ppid} ${stat.slice(end).split(" ")[2]}` : String(ppid)
  } catch {
    return String(ppid)
  }
}

/** Where `npm start` runs the gateway, looks every second whether it still does; then the way down is that of SIGTERM. */
const endWithNpm = Effect.suspend(() => {
  if ((environment().npm_lifecycle_event ?? "") === "") return Effect.void
  const before = ancestors()
  return Effect.sync(() => ancestors() !== before).pipe(
    Effect.delay("1 second"),
    Effect.repeat({ until: (changed) => changed }),
    Effect.andThen(Effect.sync(() => process.kill(process.pid, "SIGTERM")))
  )
})

/** The sandbox's clouds, and the settings by which others reach them. They stop with the scope. `pace` is in milliseconds. */
export const startSandbox = Effect.fnUntraced(function* (pace: number, catalog: (() => Catalog) | undefined) {
  const { Sandbox } = yield* Effect.promise(() => import("./sandbox/Sandbox.ts"))
  const { environment } = Context.get(yield* Layer.build(Sandbox.layer({ pace, catalog })), Sandbox)
  const { clouds } = yield* load(environment)
  return { clouds: { ...clouds, simulated: true }, environment }
})

/**
 * The settings, pointed at the sandbox's clouds where no cloud is configured or the operator wants it so. `forWorkers` is what a
 * worker's environment needs beyond this process's own.
 */
const loadWithSandbox = Effect.gen(function* () {
  const env = environment()
  const loaded = yield* load(env)
  yield* requireFips(loaded.gateway)
  applyProxyRule(loaded.gateway)
  const { sandbox, sandboxPace } = loaded.gateway
  // The setting of a cloud may be misspelt.
  const problem = (message: string) => [message, ...idleSettingLines(env), ...unknownSettingLines(env)].join("; ")
  yield* rephrase(requireCloud(loaded.gateway, loaded.clouds), problem)
  yield* refusePlainHttp(loaded.gateway)
  // The clouds that a worker finds in its environment are the sandbox's already: the first process runs them.
  if (isWorker || !servesSandbox(loaded.gateway, loaded.clouds)) {
    const simulated = isWorker && sandbox === "on"
    const clouds = { ...loaded.clouds, simulated }
    return { ...loaded, clouds, forWorkers: { GATEWAY_SANDBOX: "off" } }
  }
  const catalog = yield* followedCatalog(loaded.gateway)
  const simulated = yield* startSandbox(Duration.toMillis(sandboxPace), catalog)
  // An empty variable counts as absent.
  const noClouds = Record.map(
    Record.filter(env, (_, name) => configuresCloud(name)),
    () => ""
  )
  return {
    gateway: loaded.gateway,
    clouds: simulated.clouds,
    forWorkers: { ...noClouds, ...simulated.environment, GATEWAY_SANDBOX: "on" }
  }
})

type Loaded = Effect.Success<typeof loadWithSandbox>

/** The catalog as it is now, for the sandbox. The gateway, which reads it too, logs a file that is broken. */
const followedCatalog = Effect.fnUntraced(function* (files: CatalogFiles) {
  let catalog = yield* loadCatalog(files)
  const read = Effect.map(loadCatalog(files), (next) => {
    catalog = next
  })
  if (Option.isSome(files.catalogFile) || Option.isSome(files.catalogOverlay)) {
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep("1 second"), Effect.ignore(read))))
  }
  return () => catalog
})

/** What the boundary rests on beside the partition table: declared and loopback addresses, trusted certificates, the proxy, OpenSSL. */
const foundations = ({ gateway, clouds }: Loaded): ReadonlyArray<string> => [
  ...declarationsOf(clouds).map(({ setting, url, serves }) => `${setting} ${url} declared ${serves}`),
  ...loopbacksOf(clouds).map(({ servedBy, setting, url }) => `${setting} ${url} on loopback stands for ${servedBy}`),
  ...Option.toArray(Option.map(gateway.extraCaCerts, (file) => `NODE_EXTRA_CA_CERTS ${file}`)),
  ...Option.toArray(Option.map(gateway.httpsProxy, (url) => `GATEWAY_HTTPS_PROXY ${shownProxy(url)}`)),
  describeCrypto(cryptoFacts())
]

/** What to do first. `model` is absent where no chat model is served. */
const sandboxHint = (address: string, model: string | undefined): string => {
  const reference = `The reference is at ${address}/docs`
  const simulated = "This is the sandbox: three simulated clouds on this machine, no data leaves it."
  if (model === undefined) return `${simulated} ${reference}`
  return `${simulated} Try:

  curl -N ${address}/v1/chat/completions -H 'x-api-key: sandbox-key' -H 'content-type: application/json' \\
    -d '{"model":"${model}","stream":true,"messages":[{"role":"user","content":"What can you do?"}]}'

${reference}; a chat in the terminal is: npm run gateway -- chat --url ${address} --model ${model}
`
}

/** The one line that the gateway serves (docs/operation.md#commands), and a first request for the sandbox. */
const announce = Effect.fnUntraced(function* (loaded: Loaded, port: number) {
  const { gateway, clouds } = loaded
  const active = activeClouds(clouds)
  const { list, leftOut } = requestable(yield* loadCatalog(gateway), sitesOf(clouds))
  const address = `${Option.isSome(gateway.tlsCert) ? "https" : "http"}://${inAddress(gateway.host)}:${port}`
  const facts = [
    `clouds: ${clouds.simulated ? "sandbox" : [...active].join(", ")}`,
    `${list.length} model IDs`,
    ...foundations(loaded)
  ]
  yield* Console.log(statement("info", `listening on ${address} (${facts.join("; ")})`))
  for (const loopback of loopbacksOf(clouds)) {
    const { servedBy, setting, url } = loopback
    const warning = Effect.logWarning(loopbackWarning(loopback))
    yield* Effect.annotateLogs(warning, { setting, url, served_by: servedBy })
  }
  const few = tooFewFiles(gateway)
  // Node passes over what it cannot read.
  const unread = yield* Effect.forEach(Option.toArray(gateway.extraCaCerts), (file) =>
    Effect.match(readCertificates(file), {
      onFailure: ({ message }) => [`NODE_EXTRA_CA_CERTS: ${message}. None of its certificates is trusted.`],
      onSuccess: () => []
    })
  )
  const fewFiles = few === undefined ? [] : [`open files: ${few.message}. ${few.fix}`]
  const names = [...idleSettingLines(environment()), ...unknownSettingLines(environment())]
  for (const line of [...unread.flat(), ...fewFiles, ...leftOutLines(leftOut), ...names]) {
    yield* Effect.logWarning(line)
  }
  if (clouds.simulated) {
    yield* Console.log(statement("info", sandboxHint(address, firstChatId(list))))
  }
})

/** A first process that has workers serves nothing, and does not load the server. */
export const serve = Effect.gen(function* () {
  if (!isWorker) yield* Effect.forkScoped(endWithNpm)
  applyTlsPolicy()
  const loaded = yield* loadWithSandbox
  const { clouds, gateway: settings, forWorkers } = loaded
  const whenListening = (port: number) => (isWorker ? reportReady(port) : announce(loaded, port))
  if (isWorker || settings.workers === 1) {
    const { serveHere } = yield* Effect.promise(() => import("./Server.ts"))
    return yield* serveHere({ settings, clouds, sandbox: clouds.simulated }, whenListening)
  }
  const workers = runWorkers(settings, forWorkers, whenListening)
  // The workers have done nothing wrong, and drain.
  const within = Duration.sum(Duration.sum(settings.drainDelay, settings.drainTimeout), Duration.seconds(20))
  return yield* Effect.provide(Effect.raceFirst(workers, crash(within)), logsLayer(settings))
}).pipe(
  Effect.provide(NodeFileSystem.layer),
  Effect.scoped,
  // To be stopped is its good end.
  Effect.onInterrupt(() =>
    Effect.sync(() => {
      process.exitCode = 0
    })
  )
)
