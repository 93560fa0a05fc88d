/**
 * The list of what is shipped, as CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/): every package of the lock file that a
 * production install may bring, Node, and the OpenSSL that is inside it.
 *
 *   node .ci/sbom.ts                  writes sbom.cdx.json
 *   node .ci/sbom.ts --compare DIR    compares the list with what is installed in DIR
 */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")
const read = (file: string) => readFileSync(join(root, file), "utf8")

interface Locked {
  readonly version: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}
type Lock = Readonly<Record<string, Locked>>

const manifest = JSON.parse(read("package.json"))
const lock: Lock = JSON.parse(read("package-lock.json")).packages

/** The packages of the lock file that are no development dependency, by their place in the tree (`node_modules/a/node_modules/b`). */
export const shipped: ReadonlyMap<string, Locked> = new Map(
  Object.entries(lock).filter(([place, { dev }]) => place !== "" && dev !== true)
)

const nameAt = (place: string): string => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length)
const purl = (name: string, version: string) => `pkg:npm/${name.replace("@", "%40")}@${version}`
const purlAt = (place: string) => purl(nameAt(place), lock[place]?.version ?? "")

/** Where Node finds `name` for the package at `place`: beside it, or in a node_modules further out. */
const found = (place: string, name: string): string | undefined => {
  for (let at = place; ; at = at.slice(0, Math.max(at.lastIndexOf("/node_modules/"), 0))) {
    const candidate = `${at === "" ? "" : `${at}/`}node_modules/${name}`
    if (shipped.has(candidate)) return candidate
    if (at === "") return undefined
  }
}
const needs = (place: string): ReadonlyArray<string> => {
  const { dependencies, optionalDependencies, peerDependencies } = lock[place] ?? {}
  const names = Object.keys({ ...peerDependencies, ...optionalDependencies, ...dependencies })
  return [...new Set(names.flatMap((name) => found(place, name) ?? []).map(purlAt))].sort()
}

const license = (text: string | undefined) =>
  text === undefined ? [] : [/^[\w.-]+$/.test(text) ? { license: { id: text } } : { expression: text }]

const component = (place: string, { integrity = "", license: text, optional, version }: Locked) => {
  const name = nameAt(place)
  const [group, short] = name.startsWith("@") ? name.split("/") : [undefined, name]
  return {
    type: "library",
    "bom-ref": purl(name, version),
    ...(group === undefined ? {} : { group }),
    name: short,
    version,
    scope: optional === true ? "optional" : "required",
    hashes: integrity
      .split(" ")
      .filter((sum) => sum.startsWith("sha512-"))
      .map((sum) => ({ alg: "SHA-512", content: Buffer.from(sum.slice(7), "base64").toString("hex") })),
    licenses: license(text),
    purl: purl(name, version)
  }
}

/** Node, which is one of the optional packages for each platform, or the image's; and its OpenSSL, which no package names. */
const platform = () => {
  const versions: ReadonlySet<unknown> = new Set(Object.values(manifest.optionalDependencies))
  if (versions.size !== 1 || !versions.has(process.versions.node)) {
    throw new Error(`run this by npm, with the Node of package.json: this is ${process.version}`)
  }
  const of = (type: string, vendor: string, product: string, version: string, license: string) => ({
    type,
    "bom-ref": `${product}@${version}`,
    name: product,
    version,
    licenses: [{ license: { id: license } }],
    cpe: `cpe:2.3:a:${vendor}:${product}:${version}:*:*:*:*:*:*:*`
  })
  const openssl = /^[\d.]+/.exec(process.versions.openssl)?.[0] ?? ""
  return [
    of("platform", "nodejs", "node.js", process.versions.node, "MIT"),
    of("library", "openssl", "openssl", openssl, "Apache-2.0")
  ] as const
}

/** The same for the same lock file and Node. */
export const bom = () => {
  const [node, openssl] = platform()
  const own = purl(manifest.name, manifest.version)
  // A package that stands at two places of the tree in one version is one component.
  const packages = new Map([...shipped].map(([place, locked]) => [purlAt(place), component(place, locked)]))
  const edges = new Map<string, ReadonlyArray<string>>()
  for (const place of shipped.keys()) {
    edges.set(purlAt(place), [...new Set([...(edges.get(purlAt(place)) ?? []), ...needs(place)])].sort())
  }
  const components = [...[...packages].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one), node, openssl]
  const digest = createHash("sha256").update(JSON.stringify(components)).digest("hex")
  const uuid = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuid}`,
    version: 1,
    metadata: {
      lifecycles: [{ phase: "build" }],
      component: {
        type: "application",
        "bom-ref": own,
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        licenses: [{ license: { id: manifest.license } }],
        purl: own
      }
    },
    components,
    dependencies: [
      { ref: own, dependsOn: [...needs(""), node["bom-ref"]] },
      ...[...edges].sort(([a], [b]) => (a < b ? -1 : 1)).map(([ref, dependsOn]) => ({ ref, dependsOn })),
      { ref: node["bom-ref"], dependsOn: [openssl["bom-ref"]] },
      { ref: openssl["bom-ref"], dependsOn: [] }
    ]
  }
}

/** The places of the packages that are installed in a folder, with their versions. */
const installed = (folder: string, place = "node_modules"): ReadonlyArray<readonly [place: string, version: string]> =>
  !existsSync(join(folder, place))
    ? []
    : readdirSync(join(folder, place))
        .filter((name) => !name.startsWith("."))
        .flatMap((name) =>
          name.startsWith("@") ? readdirSync(join(folder, place, name)).map((inner) => `${name}/${inner}`) : [name]
        )
        .flatMap((name) => {
          const at = `${place}/${name}`
          const { version } = JSON.parse(readFileSync(join(folder, at, "package.json"), "utf8"))
          return [[at, version] as const, ...installed(folder, `${at}/node_modules`)]
        })

/** What is installed and not in the list, or in the list and not installed. */
export const differences = (folder: string): ReadonlyArray<string> => {
  const there = new Map(installed(folder))
  const missing = [...shipped].filter(([place, { optional }]) => optional !== true && !there.has(place))
  const unlisted = [...there].filter(([place, version]) => shipped.get(place)?.version !== version)
  return [
    ...missing.map(([place]) => `${place} is in the list and not installed`),
    ...unlisted.map(([place, version]) => `${place} ${version} is installed and not in the list`)
  ]
}

if (import.meta.main) {
  const [option, folder = root] = process.argv.slice(2)
  if (option === "--compare") {
    const found = differences(folder)
    if (found.length > 0) throw new Error(`the list of what is shipped is not what is installed:\n${found.join("\n")}`)
  } else {
    writeFileSync(join(root, "sbom.cdx.json"), `${JSON.stringify(bom(), null, 2)}\n`)
  }
}
