/**
 * One version in one place: package.json. `npm version 1.2.3` runs this script, which writes it wherever else it stands, and
 * a test says which of these places disagrees.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")
const read = (file: string) => readFileSync(join(root, file), "utf8")

/** Where else it stands: the file, and what comes before the version there. */
export const places: ReadonlyArray<readonly [file: string, before: RegExp]> = [
  ["src/contract/version.ts", /^export const version = "/m],
  ["src/client/package.json", /^ {2}"version": "/m],
  ["deploy/kubernetes/kustomization.yaml", /^ {4}newTag: /m],
  ["deploy/helm/Chart.yaml", /^version: /m],
  ["deploy/helm/Chart.yaml", /^appVersion: /m]
]

export const version: string = JSON.parse(read("package.json")).version

/** The file's text with the version in its place, or nothing where that place is not found. */
export const updated = (file: string, before: RegExp): string | undefined => {
  const text = read(file)
  const found = before.exec(text)
  if (found === null) return undefined
  const start = found.index + found[0].length
  return text.slice(0, start) + text.slice(start).replace(/^[\w.+-]+/, version)
}

if (import.meta.main) {
  for (const [file, before] of places) {
    const text = updated(file, before)
    if (text === undefined) throw new Error(`${file}: the place of the version is not there`)
    writeFileSync(join(root, file), text)
  }
}
