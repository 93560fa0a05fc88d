import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { assertKnown, root, seconds, settingsOf, text, type Variables } from "../support/deployFiles.ts"

const home = "/opt/government-model-gateway"
const lines = (file: string) =>
  text(`deploy/systemd/${file}`)
    .split("\n")
    .filter((line) => /^[A-Z]\w*=/.test(line))
    .map((line): readonly [string, string] => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)])
const unit = lines("government-model-gateway.service")
const stated = (name: string) => unit.filter(([key]) => key === name).map(([, value]) => value)
const one = (name: string) => stated(name)[0] ?? assert.fail(`there is no ${name}=`)
// Read by systemd, and by the shell of who runs a command with the service's settings: both take values in quotes.
const environment: Variables = Object.fromEntries(
  lines("gateway.env").map(([key, value]) => [key, value.replace(/^"(.*)"$/, "$1")])
)

describe("the systemd unit", () => {
  it("starts the gateway as npm does, with the Node that npm brings", () => {
    const { optionalDependencies, scripts } = JSON.parse(text("package.json"))
    const [node = "", ...args] = one("ExecStart").split(" ")
    assert.strictEqual(one("WorkingDirectory"), home)
    const [, packageName = ""] = node.slice(home.length).match(/^\/node_modules\/([\w-]+)\/bin\/node$/) ?? []
    assert.property(optionalDependencies, packageName)
    const normal = (command: string) => command.replaceAll("./src", "src")
    assert.strictEqual(normal(["node", ...args].join(" ")), normal(scripts.start))
    for (const file of args.filter((arg) => arg.includes("/"))) assert.isTrue(existsSync(join(root, file)), file)
  })

  it("gives it settings that it knows, in places that are its own", async () => {
    assertKnown(environment)
    const settings = await settingsOf(environment)
    assert.strictEqual(settings.sandbox, "off")
    assert.isAbove(Number(one("TimeoutStopSec")), seconds(settings.drainDelay) + seconds(settings.drainTimeout) + 10)
    assert.strictEqual(settings.stateDir, `/var/lib/${one("StateDirectory")}`)
    // A line a request, and among them the heads of the records' chain: the journal drops none.
    assert.strictEqual(one("LogRateLimitIntervalSec"), "0")
    assert.strictEqual(settings.usageLog, `/var/log/${one("LogsDirectory")}/usage.jsonl`)
    assert.include(stated("Environment"), `NODE_COMPILE_CACHE=/var/cache/${one("CacheDirectory")}`)
    // Root's commands would run what the service's user has put there.
    assert.notProperty(environment, "NODE_COMPILE_CACHE")
    assert.match(one("EnvironmentFile"), /\/gateway\.env$/)
    assert.isTrue(environment.GATEWAY_TLS_CERT !== undefined && environment.GATEWAY_TLS_KEY !== undefined)
  })

  it("names them so that a shell reads the same", () => {
    const file = join(root, "deploy/systemd/gateway.env")
    const { stderr, stdout } = spawnSync("sh", ["-c", `set -a; . ${file}; env`], { encoding: "utf8", env: {} })
    assert.strictEqual(stderr, "")
    const read = stdout.split("\n")
    for (const [key, value] of Object.entries(environment)) assert.include(read, `${key}=${value}`)
  })

  it("has its records rotated by the user that writes them, and leaves the new file to it", () => {
    const rotation = text("deploy/systemd/government-model-gateway.logrotate")
    const [, folder = ""] = rotation.match(/^(\/\S+)\/\*\.jsonl \{$/m) ?? []
    for (const log of ["GATEWAY_USAGE_LOG", "GATEWAY_AUDIT_LOG"]) {
      assert.match(environment[log] ?? "", new RegExp(`^${folder}/[a-z]+\\.jsonl$`), log)
    }
    assert.include(rotation, `\n    su ${one("User")} ${one("Group")}\n`)
    assert.match(rotation, /^ {4}nocreate$/m)
    assert.notMatch(rotation, /^ *copytruncate/m)
  })

  it("runs it as a user of its own, without rights", () => {
    assert.match(text("deploy/systemd/government-model-gateway.sysusers"), new RegExp(`^u ${one("User")} `, "m"))
    for (const name of ["AmbientCapabilities", "CapabilityBoundingSet"]) assert.deepStrictEqual(stated(name), [""])
    for (const name of ["NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "RestrictNamespaces"]) {
      assert.strictEqual(one(name), "true", name)
    }
    assert.strictEqual(one("ProtectSystem"), "strict")
  })
})
