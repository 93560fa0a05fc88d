/** The files of `deploy`, and what the gateway makes of the settings in them. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { parse, parseAllDocuments } from "yaml"
import { load } from "../../src/Settings.ts"
import { settingNames } from "../../src/unknownSettings.ts"

/** Whatever YAML holds. */
export type Manifest = ReturnType<typeof JSON.parse>
export type Variables = Readonly<Record<string, string>>

export const root = join(import.meta.dirname, "../..")
export const text = (path: string) => readFileSync(join(root, path), "utf8")
export const yaml = (path: string): Manifest => parse(text(path))
export const documentsOf = (text: string): ReadonlyArray<Manifest> =>
  parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((document) => document !== null)

/** The manifests of a folder that its kustomization lists. */
export const listedIn = (folder: string): ReadonlyArray<Manifest> => {
  const { resources }: Manifest = yaml(`${folder}/kustomization.yaml`)
  const names = readdirSync(join(root, folder)).filter((name) => name !== "kustomization.yaml")
  assert.deepStrictEqual([...resources].sort(), names.sort(), `${folder}/kustomization.yaml lists what is there`)
  return resources.flatMap((name: string) => documentsOf(text(`${folder}/${name}`)))
}

export const ofKind = (manifests: ReadonlyArray<Manifest>, kind: string): Manifest =>
  manifests.find((manifest) => manifest.kind === kind) ?? assert.fail(`there is no ${kind}`)

export const settingsOf = async (variables: Variables) => (await Effect.runPromise(load(variables))).gateway
export const seconds = (duration: Duration.Duration) => Duration.toMillis(duration) / 1000

/** Every variable is one that the gateway, Node, OpenTelemetry or the C library reads. */
export const assertKnown = (variables: Variables) => {
  const known = settingNames()
  for (const [name, value] of Object.entries(variables)) {
    assert.isString(value, name)
    assert.isTrue(/^OTEL_|^NODE_(ENV|COMPILE_CACHE)$|^MALLOC_/.test(name) || known.has(name), `${name} is no setting`)
  }
}

/** The instructions of the Containerfile, each on a line. */
export const stages = text("deploy/Containerfile")
  .replace(/\\\n/g, " ")
  .split("\n")
  .filter((line) => /^[A-Z]+ /.test(line))

/** What the image sets. */
export const imageVariables = (): Variables => {
  const line = stages.find((line) => line.startsWith("ENV ")) ?? ""
  return Object.fromEntries([...line.matchAll(/(\w+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]))
}
