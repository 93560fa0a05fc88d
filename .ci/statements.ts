/**
 * What a release says of itself, written to release/: OpenVEX (https://openvex.dev/ns/v0.2.0), from .ci/vex.json, and SLSA
 * provenance (https://slsa.dev/spec/v1.1/provenance) as an in-toto statement that the forge signs.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { bom } from "./sbom.ts"

const root = join(import.meta.dirname, "..")
const release = join(root, "release")
const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim()

interface Source {
  readonly commit: string
  /** Seconds since 1970. */
  readonly committed: number
  /** Where the forge has it, as a URI; the checkout itself where no forge builds. */
  readonly repository: string
  readonly builder: string
  readonly invocation: string
}

/** GitHub, Gitea and Forgejo set these variables (https://docs.github.com/actions/reference/variables-reference). */
const sourceOf = (environment: Readonly<Record<string, string | undefined>>): Source => {
  const { GITHUB_REPOSITORY: name, GITHUB_RUN_ID: run, GITHUB_SERVER_URL: server } = environment
  const repository = name === undefined ? undefined : `${server}/${name}`
  return {
    commit: git("rev-parse", "HEAD"),
    committed: Number(git("log", "-1", "--format=%ct")),
    repository: repository ?? "urn:government-model-gateway:checkout",
    builder:
      repository === undefined ? "urn:government-model-gateway:local" : `${repository}/.github/workflows/release.yml`,
    invocation: repository === undefined ? "local" : `${repository}/actions/runs/${run}`
  }
}

const purlOf = (version: string) => `pkg:npm/government-model-gateway@${version}`

/** Statements name only the weakness, its status and why; the product is the release. */
export const vex = (statements: ReadonlyArray<object>, version: string, committed: number) => ({
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": `urn:government-model-gateway:vex:${version}`,
  author: "The maintainers of the Government Model Gateway",
  timestamp: new Date(committed * 1000).toISOString(),
  version: 1,
  statements: statements.map((statement) => ({ products: [{ "@id": purlOf(version) }], ...statement }))
})

/** `files`: the SHA-256 of each file of the release. */
export const provenance = (
  files: ReadonlyMap<string, string>,
  { builder, commit, invocation, repository }: Source
) => ({
  _type: "https://in-toto.io/Statement/v1",
  subject: [...files].map(([name, sha256]) => ({ name, digest: { sha256 } })),
  predicateType: "https://slsa.dev/provenance/v1",
  predicate: {
    buildDefinition: {
      buildType: `${repository}#.ci/release`,
      externalParameters: { source: { uri: repository, digest: { gitCommit: commit } }, command: ".ci/release" },
      resolvedDependencies: [
        { uri: `git+${repository}`, digest: { gitCommit: commit } },
        ...bom().components.flatMap((one) =>
          "purl" in one ? one.hashes.map(({ content }) => ({ uri: one.purl, digest: { sha512: content } })) : []
        )
      ]
    },
    runDetails: { builder: { id: builder }, metadata: { invocationId: invocation } }
  }
})

if (import.meta.main) {
  const [name = ""] = process.argv.slice(2)
  const source = sourceOf(process.env)
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const write = (file: string, value: object) =>
    writeFileSync(join(release, file), `${JSON.stringify(value, null, 2)}\n`)
  const { statements } = JSON.parse(readFileSync(join(root, ".ci/vex.json"), "utf8"))
  // A document of OpenVEX has one statement or more: where nothing is known there is none.
  if (statements.length > 0) write(`${name}.openvex.json`, vex(statements, version, source.committed))
  const files = readdirSync(release).sort()
  const sums = files.map((file) => {
    const sum = createHash("sha256").update(readFileSync(join(release, file)))
    return [file, sum.digest("hex")] as const
  })
  write(`${name}.intoto.json`, provenance(new Map(sums), source))
}
