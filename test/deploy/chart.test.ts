import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { stringify } from "yaml"
import { documentsOf, listedIn, type Manifest, ofKind, root, text, yaml } from "../support/deployFiles.ts"
import { render } from "../support/goTemplate.ts"

const folder = join(root, "deploy/helm")
const names = readdirSync(join(folder, "templates")).sort()
const templates = Object.fromEntries(names.map((name) => [name, text(`deploy/helm/templates/${name}`)]))
const { appVersion, name: chartName, version } = yaml("deploy/helm/Chart.yaml")
const schema = JSON.parse(text("deploy/helm/values.schema.json"))

type Values = Readonly<Record<string, Manifest>>
const merged = (values: Values, over: Values): Values => ({
  ...values,
  ...Object.fromEntries(
    Object.entries(over).map(([key, value]) => [
      key,
      typeof value === "object" && !Array.isArray(value) ? merged(values[key] ?? {}, value) : value
    ])
  )
})

/** What `helm template gateway` makes of these values. */
const rendered = (over: Values): ReadonlyArray<Manifest> => {
  const root = {
    Values: merged(yaml("deploy/helm/values.yaml"), over),
    Release: { Name: "gateway", Namespace: "model-gateway", Service: "Helm" },
    Files: (name: string) => text(`deploy/helm/${name}`),
    Chart: { Name: chartName, Version: version, AppVersion: appVersion }
  }
  return names.filter((name) => name.endsWith(".yaml")).flatMap((name) => documentsOf(render(templates, name, root)))
}

const cloudsOf = (way: string) =>
  ["vertex", "bedrock", "azure"].map((cloud) => listedIn(`deploy/kubernetes/egress/${way}/${cloud}`)[0])
const everything: Values = {
  image: { digest: `sha256:${"0".repeat(64)}` },
  imagePullSecrets: [{ name: "registry" }],
  settings: { BEDROCK_REGION: "us-gov-west-1", GATEWAY_TLS_CLIENT_CA: "/etc/gateway/tls/clients.crt" },
  certificate: { enabled: true },
  serviceAccount: { annotations: { "eks.amazonaws.com/role-arn": "arn:aws-us-gov:iam::1:role/gateway" } },
  catalog: JSON.parse(text("src/catalog/catalog.json")),
  catalogOverlay: { models: { "gpt-5.6-terra": { off: true } } },
  extraEnv: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=768" }],
  extraVolumes: [{ name: "records", emptyDir: {} }],
  extraVolumeMounts: [{ name: "records", mountPath: "/var/records" }],
  monitoring: { serviceMonitor: true, prometheusRule: true, dashboard: true, labels: { release: "prometheus" } },
  podLabels: { "azure.workload.identity/use": "true" },
  egress: { cidrs: { vertex: ["199.36.153.4/30"] }, fqdns: { azure: ["my-resource.openai.azure.us"] } }
}

/** What only one of the two ways to deploy has: Helm's labels, the sum of the settings, the place of the image. */
const common = (manifest: Manifest): Manifest =>
  JSON.parse(
    JSON.stringify(manifest, (key, value) =>
      /^(helm\.sh\/chart|checksum\/settings|app\.kubernetes\.io\/(instance|managed-by|version))$/.test(key)
        ? undefined
        : key === "image"
          ? "government-model-gateway"
          : value
    )
  )
const byName = (manifests: ReadonlyArray<Manifest>) =>
  Object.fromEntries(manifests.map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, common(manifest)]))

describe("the Helm chart", () => {
  it("makes what the Kubernetes manifests are", () => {
    assert.deepEqual(byName(rendered({})), byName(listedIn("deploy/kubernetes/base")))
  })

  it("opens the same ways out", () => {
    const cidrs = Object.fromEntries(
      cloudsOf("cidr").map(({ metadata, spec }) => [
        metadata.name.replace("gateway-", ""),
        spec.egress[0].to.map(({ ipBlock }: Manifest) => ipBlock.cidr)
      ])
    )
    const policies = rendered({ egress: { cidrs } }).filter(({ metadata }) =>
      /^gateway-(?!settings)/.test(metadata.name)
    )
    assert.deepEqual(byName(policies), byName(cloudsOf("cidr")))
    for (const policy of cloudsOf("fqdn")) {
      const cloud = policy.metadata.name.replace("gateway-", "")
      // A pattern without * is a name.
      const [dns, { toFQDNs, ...out }] = policy.spec.egress
      const patterns = toFQDNs.map(({ matchName, matchPattern = matchName }: Manifest) => matchPattern)
      const [made] = rendered({ egress: { fqdns: { [cloud]: patterns } } }).filter(
        ({ kind }) => kind === "CiliumNetworkPolicy"
      )
      assert.deepEqual(made.spec.egress, [
        dns,
        { toFQDNs: patterns.map((matchPattern: string) => ({ matchPattern })), ...out }
      ])
      for (const pattern of patterns)
        assert.match(pattern, new RegExp(schema.$defs.fqdns.additionalProperties.items.pattern))
    }
  })

  it("makes the certificate that the Kubernetes component makes", () => {
    const made = rendered({ certificate: { enabled: true } }).filter(({ kind }) => kind === "Certificate")
    assert.deepEqual(made.map(common), listedIn("deploy/kubernetes/cert-manager").map(common))
  })

  it("replaces the pods when a setting changes, and takes values where they belong", () => {
    const pod = (values: Values) => rendered(values).find(({ kind }) => kind === "Deployment").spec.template
    const sum = (values: Values) => pod(values).metadata.annotations["checksum/settings"]
    assert.match(sum({}), /^[0-9a-f]{64}$/)
    const ports: Values = { settings: { GATEWAY_PORT: "8443", GATEWAY_METRICS_PORT: "9000" } }
    assert.notStrictEqual(sum({}), sum(ports))
    assert.deepStrictEqual(
      pod(ports).spec.containers[0].ports.map(({ containerPort }: Manifest) => containerPort),
      [8443, 9000]
    )
    assert.strictEqual(pod(ports).metadata.annotations["prometheus.io/port"], "9000")
    assert.strictEqual(pod({ terminationGracePeriodSeconds: 1000 }).spec.terminationGracePeriodSeconds, 1000)
    const all = rendered(everything)
    assert.include(pod(everything).spec.containers[0].image, `:${appVersion}@sha256:0`)
    assert.deepInclude(pod(everything).metadata.labels, everything.podLabels)
    assert.deepStrictEqual(pod(everything).spec.imagePullSecrets, everything.imagePullSecrets)
    assert.deepStrictEqual(
      all.find(({ kind }) => kind === "ServiceAccount").metadata.annotations,
      everything.serviceAccount.annotations
    )
    assert.strictEqual(
      all.find(({ metadata }) => metadata.name === "gateway-settings").data.BEDROCK_REGION,
      "us-gov-west-1"
    )
  })

  it("opens a connection only where a probe would need a certificate", () => {
    const [container] = ofKind(rendered(everything), "Deployment").spec.template.spec.containers
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"]) {
      assert.deepEqual(container[probe].tcpSocket, { port: "https" }, probe)
      assert.notProperty(container[probe], "httpGet")
    }
  })

  it("asks without TLS where something in front ends it", () => {
    const settings = { GATEWAY_PLAIN_HTTP: "true", GATEWAY_TLS_CERT: "", GATEWAY_TLS_KEY: "" }
    const plain = rendered({ settings })
    const [container] = ofKind(plain, "Deployment").spec.template.spec.containers
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"]) {
      assert.strictEqual(container[probe].httpGet.scheme, "HTTP", probe)
    }
    assert.strictEqual(ofKind(plain, "Service").spec.ports[0].appProtocol, "http")
  })

  it("takes a catalog, and what an operator adds to the pod", () => {
    const all = rendered(everything)
    const { data } = all.find(({ metadata }) => metadata.name === "gateway-catalog")
    assert.deepStrictEqual(JSON.parse(data["catalog.json"]), everything.catalog)
    assert.deepStrictEqual(JSON.parse(data["overlay.json"]), everything.catalogOverlay)
    // As Helm reads the overlay of values.yaml, where `off` has no quotes.
    const read = rendered({
      catalogOverlay: { models: { "gpt-5.6-terra": { false: true, bedrock: { false: false } } } }
    })
    assert.deepStrictEqual(
      JSON.parse(read.find(({ metadata }) => metadata.name === "gateway-catalog").data["overlay.json"]),
      { models: { "gpt-5.6-terra": { off: true, bedrock: { off: false } } } }
    )
    const { containers, volumes } = all.find(({ kind }) => kind === "Deployment").spec.template.spec
    const env = Object.fromEntries(containers[0].env.map(({ name, value }: Manifest) => [name, value]))
    for (const name of ["GATEWAY_CATALOG_FILE", "GATEWAY_CATALOG_OVERLAY"]) {
      const [folder, file] = [env[name].split("/").slice(0, -1).join("/"), env[name].split("/").at(-1)]
      assert.property(data, file)
      assert.isTrue(containers[0].volumeMounts.some(({ mountPath }: Manifest) => mountPath === folder))
    }
    assert.include(env, { NODE_OPTIONS: "--max-old-space-size=768" })
    assert.deepInclude(volumes, everything.extraVolumes[0])
    assert.deepInclude(containers[0].volumeMounts, everything.extraVolumeMounts[0])
    // Every mount has its volume.
    assert.sameMembers(
      containers[0].volumeMounts.map(({ name }: Manifest) => name),
      volumes.map(({ name }: Manifest) => name)
    )
  })

  it("has the alerts, the dashboard and the scrape for who asks for them", () => {
    const of = (kind: string) => rendered(everything).find((manifest) => manifest.kind === kind)
    assert.deepStrictEqual(of("PrometheusRule").spec, yaml("deploy/helm/files/alerts.yaml"))
    assert.strictEqual(of("PrometheusRule").metadata.labels.release, "prometheus")
    const board = rendered(everything).find(({ metadata }) => metadata.name === "gateway-dashboard").data[
      "dashboard.json"
    ]
    assert.deepStrictEqual(JSON.parse(board), JSON.parse(text("deploy/helm/files/dashboard.json")))
    const [{ port }] = of("ServiceMonitor").spec.endpoints
    const { targetPort } = of("Service").spec.ports.find(({ name }: Manifest) => name === port)
    const { ports } = of("Deployment").spec.template.spec.containers[0]
    assert.deepInclude(
      ports.find(({ name }: Manifest) => name === targetPort),
      { containerPort: 9464 }
    )
    assert.deepInclude(of("Service").metadata.labels, of("ServiceMonitor").spec.selector.matchLabels)
  })

  it("has a schema of all its values, which refuses the whole Internet", () => {
    const values = yaml("deploy/helm/values.yaml")
    const { global: _, ...stated } = schema.properties
    assert.sameMembers(Object.keys(stated), Object.keys(values))
    assert.isFalse(schema.additionalProperties)
    const cidr = new RegExp(schema.$defs.cidrs.additionalProperties.items.pattern)
    for (const good of ["199.36.153.4/30", "10.0.0.0/8", "2600:2d00:2:1000::/56"]) assert.match(good, cidr)
    for (const bad of ["0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "::/0", "2000::/3", "10.0.0.1"])
      assert.notMatch(bad, cidr)
    const fqdn = new RegExp(schema.$defs.fqdns.additionalProperties.items.pattern)
    for (const bad of ["*", "*.com", "amazonaws.com", "*.*", "*.*.*"]) assert.notMatch(bad, fqdn)
  })

  const helm = (input: string, ...args: ReadonlyArray<string>) => spawnSync("helm", args, { encoding: "utf8", input })
  it.runIf(helm("", "version").status === 0)("is rendered by Helm as it is here", () => {
    for (const values of [{}, everything]) {
      // By a file, as operators do: YAML as Helm reads it is not that of its writer.
      const { status, stderr, stdout } = helm(
        stringify(values),
        ...["template", "gateway", folder, "--namespace", "model-gateway", "--kube-version", "1.31.0", "--values", "-"]
      )
      assert.strictEqual(status, 0, stderr)
      // Helm sums what its own writer of YAML made of the settings, and sorts the keys of JSON.
      const whole = (manifests: ReadonlyArray<Manifest>) =>
        manifests.map((manifest) =>
          JSON.parse(JSON.stringify(manifest), (key, value) =>
            key === "checksum/settings" ? "sum" : key.endsWith(".json") ? JSON.parse(value) : value
          )
        )
      const named = (manifests: ReadonlyArray<Manifest>) =>
        Object.fromEntries(whole(manifests).map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest]))
      assert.deepEqual(named(documentsOf(stdout)), named(rendered(values)))
    }
  })
})
