import { readdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { clouds } from "../../src/catalog/clouds.ts"
import { partition, rowOf } from "../../src/catalog/Partition.ts"
import {
  assertKnown,
  documentsOf,
  imageVariables,
  listedIn,
  type Manifest,
  ofKind,
  root,
  seconds,
  settingsOf,
  text,
  yaml
} from "../support/deployFiles.ts"

const base = listedIn("deploy/kubernetes/base")
const top = yaml("deploy/kubernetes/kustomization.yaml")
/** The clouds that the kustomization names as an example. */
const { data: exampleClouds } = documentsOf(top.patches[0].patch)[0]
const kind = (wanted: string) => ofKind(base, wanted)
const pod = () => kind("Deployment").spec.template
const container = () => pod().spec.containers[0]
const settings = { ...kind("ConfigMap").data, ...exampleClouds }

describe("the Kubernetes manifests", () => {
  it("are of kinds that the cluster knows, and the image is named", () => {
    assert.strictEqual(top.images[0].name, container().image)
    const versions: Readonly<Record<string, string>> = {
      ServiceAccount: "v1",
      ConfigMap: "v1",
      Service: "v1",
      Deployment: "apps/v1",
      PodDisruptionBudget: "policy/v1",
      HorizontalPodAutoscaler: "autoscaling/v2",
      NetworkPolicy: "networking.k8s.io/v1"
    }
    assert.sameMembers(
      base.map(({ kind }) => kind),
      Object.keys(versions)
    )
    for (const { apiVersion, kind, metadata } of base) {
      assert.strictEqual(apiVersion, versions[kind])
      assert.isString(metadata.name)
    }
  })

  it("set what the gateway knows, and it accepts it", async () => {
    assertKnown(settings)
    const { drainDelay, drainTimeout, sandbox } = await settingsOf(settings)
    assert.strictEqual(sandbox, "off")
    assert.deepStrictEqual(container().envFrom, [
      { configMapRef: { name: kind("ConfigMap").metadata.name } },
      { secretRef: { name: "gateway-secrets" } }
    ])
    assert.strictEqual(seconds(drainDelay), 5)
    assert.isAbove(pod().spec.terminationGracePeriodSeconds, seconds(drainDelay) + seconds(drainTimeout) + 10)
  })

  it("agree on ports and paths", () => {
    const { data } = kind("ConfigMap")
    const ports = Object.fromEntries(
      container().ports.map(({ containerPort, name }: Manifest) => [name, String(containerPort)])
    )
    assert.deepStrictEqual(ports, { https: data.GATEWAY_PORT, metrics: data.GATEWAY_METRICS_PORT })
    const mounts = container().volumeMounts
    assert.deepStrictEqual(
      mounts.map(({ mountPath }: Manifest) => mountPath),
      [dirname(data.GATEWAY_KEYS_FILE), dirname(data.GATEWAY_TLS_CERT)]
    )
    for (const [index, { name, readOnly }] of mounts.entries()) {
      assert.isTrue(readOnly, name)
      const volume = pod().spec.volumes[index]
      assert.strictEqual(volume.name, name)
      assert.strictEqual(volume.secret.defaultMode, 0o440)
    }
    assert.strictEqual(pod().metadata.annotations["prometheus.io/port"], data.GATEWAY_METRICS_PORT)
  })

  it("speak TLS to callers, probes, Redis and the collector", () => {
    const { data } = kind("ConfigMap")
    const files = ["GATEWAY_TLS_CERT", "GATEWAY_TLS_KEY", "OTEL_EXPORTER_OTLP_CERTIFICATE"].map((name) => data[name])
    assert.deepStrictEqual(
      files,
      ["tls.crt", "tls.key", "ca.crt"].map((name) => `/etc/gateway/tls/${name}`)
    )
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"]) {
      assert.deepEqual(container()[probe].httpGet, { path: "/health", port: "https", scheme: "HTTPS" }, probe)
    }
    assert.deepInclude(kind("Service").spec.ports[0], { port: 443, targetPort: "https" })
    assert.strictEqual(new URL(data.OTEL_EXPORTER_OTLP_ENDPOINT).protocol, "https:")
    const made = text("deploy/kubernetes/kustomization.yaml")
    assert.include(made, "GATEWAY_REDIS_URL=rediss://")
    for (const { secret } of pod().spec.volumes) assert.include(made, `secret generic ${secret.secretName} `)
    const [certificate] = listedIn("deploy/kubernetes/cert-manager")
    assert.strictEqual(certificate.spec.secretName, pod().spec.volumes[1].secret.secretName)
    assert.include(certificate.spec.dnsNames, `${kind("Service").metadata.name}.${top.namespace}.svc`)
  })

  it("probe by a connection where callers must show a certificate", () => {
    const { kind: sort, patches } = yaml("deploy/kubernetes/client-certificates/kustomization.yaml")
    assert.strictEqual(sort, "Component")
    const [config, deployment] = patches.flatMap(({ patch }: Manifest) => documentsOf(patch))
    assertKnown(config.data)
    assert.strictEqual(config.metadata.name, kind("ConfigMap").metadata.name)
    assert.strictEqual(dirname(config.data.GATEWAY_TLS_CLIENT_CA), dirname(kind("ConfigMap").data.GATEWAY_TLS_CERT))
    assert.strictEqual(deployment.metadata.name, kind("Deployment").metadata.name)
    const [{ name, ...probes }] = deployment.spec.template.spec.containers
    assert.strictEqual(name, container().name)
    const probed = Object.keys(container()).filter((key) => key.endsWith("Probe"))
    assert.deepEqual(
      probes,
      Object.fromEntries(probed.map((probe) => [probe, { httpGet: null, tcpSocket: { port: "https" } }]))
    )
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
    const user = `${spec.securityContext.runAsUser}:${spec.securityContext.runAsGroup}`
    assert.include(text("deploy/Containerfile"), `\nUSER ${user}\n`)
    assert.strictEqual(imageVariables().GATEWAY_KEYS_FILE, settings.GATEWAY_KEYS_FILE)
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
})

describe("the ways out of the cluster", () => {
  const ways = ["cidr", "fqdn"].flatMap((way) => clouds.map((cloud) => `deploy/kubernetes/egress/${way}/${cloud}`))
  const policies = new Map(ways.map((folder) => [folder, listedIn(folder)[0]]))
  const namesOf = (cloud: string): ReadonlyArray<Manifest> =>
    policies.get(`deploy/kubernetes/egress/fqdn/${cloud}`).spec.egress[1].toFQDNs
  /** As Cilium reads it: `*` is any part of a label. */
  const lets = (cloud: string, host: string) =>
    namesOf(cloud).some(({ matchName, matchPattern = matchName }) =>
      new RegExp(`^${matchPattern.replaceAll(".", "\\.").replaceAll("*", "[-a-z0-9_]*")}$`).test(host)
    )

  it("lead without an overlay to names, Redis and the collector only", () => {
    const { spec } = kind("NetworkPolicy")
    assert.deepStrictEqual(spec.policyTypes, ["Ingress", "Egress"])
    for (const { from } of spec.ingress) assert.isAtLeast(from.length, 1)
    const collector = Number(new URL(kind("ConfigMap").data.OTEL_EXPORTER_OTLP_ENDPOINT).port)
    assert.deepStrictEqual(
      spec.egress.map(({ ports }: Manifest) => ports[0].port),
      [53, 6379, collector]
    )
    for (const { to } of spec.egress) for (const peer of to) assert.notProperty(peer, "ipBlock")
  })

  it("are there for each cloud by address and by name, and there are no others", () => {
    assert.deepStrictEqual(
      ways.map((way) => way.split("/").slice(3).join("/")).sort(),
      ["cidr", "fqdn"]
        .flatMap((way) => readdirSync(join(root, "deploy/kubernetes/egress", way)).map((name) => `${way}/${name}`))
        .sort()
    )
    for (const folder of ways) assert.strictEqual(yaml(`${folder}/kustomization.yaml`).kind, "Component", folder)
    assert.deepStrictEqual(
      top.components,
      clouds.map((cloud) => `egress/cidr/${cloud}`)
    )
  })

  it.each(ways)("%s: the gateway's pods, on port 443, to places that are named", (folder) => {
    const { spec } = policies.get(folder)
    assert.deepStrictEqual((spec.podSelector ?? spec.endpointSelector).matchLabels, pod().metadata.labels)
    const { ports, to, toFQDNs, toPorts } = spec.egress.at(-1)
    const [port, ...more] = ports ?? toPorts[0].ports
    assert.deepEqual([String(port.port), port.protocol, more.length], ["443", "TCP", 0])
    for (const { ipBlock } of to ?? []) assert.isAtLeast(Number(ipBlock.cidr.split("/")[1]), 8, folder)
    for (const { matchName, matchPattern = matchName } of toFQDNs ?? []) assert.match(matchPattern, /(\.[a-z]+){2}$/)
  })

  it("let the names through that the gateway asks for, and none of another partition", () => {
    for (const cloud of ["vertex", "bedrock"] as const) {
      for (const { hosts, places } of partition[cloud]) {
        for (const place of places) {
          const host = (hosts[0] ?? "").replaceAll("{place}", place.replaceAll("*", "west-1"))
          assert.isTrue(lets(cloud, host), host)
        }
      }
    }
    assert.isTrue(lets("azure", new URL(exampleClouds.AZURE_OPENAI_ENDPOINT).hostname))
    assert.isDefined(rowOf("azure", new URL(exampleClouds.AZURE_OPENAI_ENDPOINT).hostname))
    for (const [cloud, host] of [
      ["vertex", "oauth2.googleapis.com"],
      ["bedrock", "sts.us-gov-west-1.amazonaws.com"],
      ["azure", "login.microsoftonline.us"]
    ] as const) {
      assert.isTrue(lets(cloud, host), host)
    }
    for (const [cloud, host] of [
      ["vertex", "aiplatform.googleapis.com"],
      ["vertex", "europe-west1-aiplatform.googleapis.com"],
      ["vertex", "storage.googleapis.com"],
      ["bedrock", "bedrock-runtime.us-east-1.amazonaws.com"],
      ["bedrock", "bedrock-runtime-fips.us-east-1.amazonaws.com"],
      ["bedrock", "s3.us-gov-west-1.amazonaws.com"],
      ["azure", "another.openai.azure.us"],
      ["azure", "my-resource.openai.azure.com"],
      ["azure", "login.microsoftonline.com"]
    ] as const) {
      assert.isFalse(lets(cloud, host), host)
    }
  })
})
