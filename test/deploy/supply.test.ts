/** What the project is made of: held to versions and sums that are in the repository. */
import { createHash } from "node:crypto"
import { createReadStream, existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { assert, describe, it } from "@effect/vitest"
import { places, released, updated, version } from "../../.ci/version.ts"
import { type Manifest, root, text, yaml } from "../support/deployFiles.ts"

const manifest = JSON.parse(text("package.json"))
const locked = JSON.parse(text("package-lock.json")).packages

describe("the version", () => {
  it.each(places)("stands in %s as in package.json", (file, ours) => {
    assert.strictEqual(updated(file, ours), text(file))
    assert.notInclude(updated(file, ours, "98.7.6"), `"${version}"`, "no other place in the file")
  })

  it.each(places)("is found again in %s after a release candidate", (file, ours) => {
    const candidate = updated(file, ours, "98.7.6-rc.1") ?? ""
    assert.strictEqual(candidate.replace(ours, version), text(file))
  })

  it("takes the changelog's unreleased part, once", () => {
    const changelog = "# Changelog\n\n## [Unreleased]\n\n- New\n\n## [0.1.0] - 2026-01-01\n"
    const made = released(changelog, "1.2.3", "2026-12-01")
    assert.include(made, "## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n- New\n")
    assert.strictEqual(released(made, "1.2.3", "2026-12-02"), made)
  })

  it("is written by npm when it changes", () => {
    assert.match(manifest.scripts.version, /^node \.ci\/version\.ts/)
    assert.strictEqual(locked[""].version, version)
  })
})

describe("the Node that npm brings", () => {
  const lines = text("deploy/node.sha256")
    .split("\n")
    .filter((line) => /^[0-9a-f]{64} {2}/.test(line))
    .map((line) => line.split("  "))
  const packageOf = (file: string) => file.split("/")[1] ?? ""

  it("has a sum for each platform, and one version", () => {
    assert.sameMembers(
      lines.map(([, file = ""]) => packageOf(file)),
      Object.keys(manifest.optionalDependencies)
    )
    for (const [, file = ""] of lines) {
      const { bin, version } = locked[`node_modules/${packageOf(file)}`]
      assert.strictEqual(file, `node_modules/${packageOf(file)}/${bin.node}`)
      assert.strictEqual(version, manifest.optionalDependencies[packageOf(file)])
    }
    assert.lengthOf([...new Set(Object.values(manifest.optionalDependencies))], 1)
  })

  const installed = lines.filter(([, file = ""]) => existsSync(join(root, file)))

  it("is installed for this platform", () => {
    assert.isNotEmpty(installed)
  })

  it.each(installed)("has the sum %s: %s", async (sum, file) => {
    const hash = createHash("sha256")
    await pipeline(createReadStream(join(root, file ?? "")), hash)
    assert.strictEqual(hash.digest("hex"), sum)
  })
})

describe("images", () => {
  const files = readdirSync(join(root, "deploy"), { recursive: true, encoding: "utf8" })
    .filter((file) => /(Containerfile|\.ya?ml)$/.test(file))
    .map((file) => `deploy/${file}`)
  const named = [...files, "docs/operation.md", "otel-collector.yaml"].flatMap((file) =>
    [...text(file).matchAll(/(?:\bimage: |_IMAGE=|^FROM |\b(?=otel\/))([a-z][\w./-]*(?::\S+)?)/gm)].map(
      ([, image = ""]) => [image, file] as const
    )
  )
  // Made from this repository; FROM scratch is no image.
  const foreign = named.filter(([image]) => !["scratch", manifest.name].includes(image))

  it("are found", () => {
    for (const name of ["node", "redis", "otel/opentelemetry-collector", "otel/opentelemetry-collector-contrib"]) {
      assert.isTrue(
        foreign.some(([image]) => image.split(":")[0] === name),
        name
      )
    }
  })

  it.each(foreign)("%s (%s) has its full version", (image) => {
    assert.match(image, /:\d+\.\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$/)
  })
})

describe("Renovate", () => {
  const { customManagers, extends: presets, packageRules } = JSON.parse(text("renovate.json"))

  it("pins digests of images and actions", () => {
    assert.includeMembers(presets, ["docker:pinDigests", "helpers:pinGitHubActionDigests"])
  })

  it("moves all of Node at once", () => {
    const { matchPackageNames } = packageRules.find(({ groupName }: Manifest) => groupName === "node")
    assert.sameMembers(matchPackageNames, ["node", ...Object.keys(manifest.optionalDependencies)])
  })

  it.each<Manifest>(customManagers)("finds $description", (manager) => {
    for (const pattern of manager.managerFilePatterns) {
      const path = new RegExp(pattern.slice(1, -1))
      const files = [".github/workflows/ci.yml", "docs/operation.md", "otel-collector.yaml"].filter((file) =>
        path.test(file)
      )
      assert.isNotEmpty(files, pattern)
      for (const file of files) assert.match(text(file), new RegExp(manager.matchStrings[0]), file)
    }
  })
})

describe("the workflows for public forges", () => {
  const workflows = ["ci", "release"].map((name) => yaml(`.github/workflows/${name}.yml`))
  const steps: ReadonlyArray<Manifest> = workflows.flatMap(({ jobs }) =>
    Object.values<Manifest>(jobs).flatMap(({ steps }) => steps)
  )

  it("run what is in .ci, and may only read where nothing else is stated", () => {
    for (const { permissions } of workflows) assert.deepStrictEqual(permissions, { contents: "read" })
    const scripts = steps.flatMap(({ run = "" }) => run.match(/\.ci\/[\w-]+/g) ?? [])
    assert.includeMembers(scripts, [".ci/run", ".ci/manifests", ".ci/image", ".ci/release"])
    for (const script of scripts) assert.isTrue(existsSync(join(root, script)), script)
  })

  it("name the full version of each action", () => {
    for (const { uses } of steps) if (uses !== undefined) assert.match(uses, /@(v\d+\.\d+\.\d+|[0-9a-f]{40})$/)
  })

  it("make a release in every run, sign it with a tag's, and keep its list of what is shipped", () => {
    assert.include(text(".ci/run"), ".ci/release")
    assert.isTrue(steps.some((step) => step.with?.path === "release/*.cdx.json"))
    assert.isTrue(steps.some(({ run = "" }) => run.includes("cosign sign-blob") && run.includes("SHA256SUMS *.json")))
  })
})
