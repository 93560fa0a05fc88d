/**
 * One version in one place: package.json. `npm version 1.2.3` runs this script, which writes it wherever else it stands, and
 * gives what the changelog has as unreleased that version and today's date. A test says which of these places disagrees.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")
const read = (file: string) => readFileSync(join(root, file), "utf8")

/** Where else it stands: the file, and every version there that is ours. */
export const places: ReadonlyArray<readonly [file: string, ours: RegExp]> = [
  ["src/contract/version.ts", /(?<=^export const version = ")[\w.+-]+/gm],
  ["src/client/package.json", /(?<=^ {2}"version": ")[\w.+-]+/gm],
  ["src/client/contract.ts", /(?<=@example ")[\w.+-]+(?="\s+\*\/\s+readonly version\b)/g],
  ["test/golden/openapi.json", /(?<="version": "|"version": \{[^}[]*\[\s+")\d[\w.+-]*(?=")/g],
  ["deploy/kubernetes/kustomization.yaml", /(?<=^ {4}newTag: )[\w.+-]+/gm],
  ["docs/compliance/component-definition.json", /(?<="version": "|"name": "version",\s+"value": ")[\w.+-]+(?=")/g],
  ["deploy/helm/Chart.yaml", /(?<=^(version|appVersion): )[\w.+-]+/gm],
  ["deploy/README.md", /(?<=government-model-gateway-)\d[\w.+-]*?(?=-linux-)/g],
  ["deploy/Containerfile", /(?<=^LABEL .*image\.version=")[\w.+-]+/gm]
]

export const version: string = JSON.parse(read("package.json")).version

/** The file's text with this version in its places, or nothing where there is none. */
export const updated = (file: string, ours: RegExp, to: string = version): string | undefined => {
  const text = read(file)
  return text.search(ours) < 0 ? undefined : text.replace(ours, to)
}

const changelog = "docs/CHANGELOG.md"
/** The changelog with what was unreleased under this version. */
export const released = (text: string, to: string, date: string): string =>
  text.includes(`\n## [${to}]`) ? text : text.replace("\n## [Unreleased]\n", `$&\n## [${to}] - ${date}\n`)

if (import.meta.main) {
  for (const [file, ours] of places) {
    const text = updated(file, ours)
    if (text === undefined) throw new Error(`${file}: the place of the version is not there`)
    writeFileSync(join(root, file), text)
  }
  writeFileSync(join(root, changelog), released(read(changelog), version, new Date().toISOString().slice(0, 10)))
}
