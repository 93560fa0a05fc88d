/** The folders: no import runs back up, and none goes in a circle (docs/architecture.md#folders). */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const root = resolve(import.meta.dirname, "../src")

const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? filesIn(path) : name.endsWith(".ts") ? [path] : []
  })

const importsOf = (file: string): ReadonlyArray<string> =>
  [...readFileSync(file, "utf8").matchAll(/(?:\bfrom |\bimport\()"(\.[^"]+)"/g)].map(([, path = ""]) =>
    resolve(dirname(file), path)
  )

const files = filesIn(root)
const graph = new Map(files.map((file) => [file, importsOf(file)]))

/** The folder of a file, or for what lies beside the folders its own name. */
const folderOf = (file: string): string => relative(root, file).split("/")[0] ?? ""

/** What each folder may import, beside itself. Everything else is above it. */
const mayImport: Readonly<Record<string, ReadonlyArray<string>>> = {
  wire: [],
  audit: [],
  "regularFile.ts": [],
  "watchFile.ts": ["audit"],
  "listenError.ts": ["wire"],
  "nodeHttp.ts": [],
  "sockets.ts": [],
  "stderr.ts": [],
  "tlsPolicy.ts": [],
  catalog: ["audit", "wire", "regularFile.ts", "watchFile.ts"],
  settings: ["catalog", "wire", "regularFile.ts"],
  "Settings.ts": ["catalog", "settings", "wire", "nodeHttp.ts"],
  "fips.ts": ["wire", "Settings.ts"],
  contract: ["catalog", "wire"],
  client: ["catalog", "contract", "wire"],
  governance: ["contract", "wire"],
  vendors: ["catalog", "contract", "governance", "wire"],
  limits: [
    "audit",
    "catalog",
    "contract",
    "wire",
    "Settings.ts",
    "regularFile.ts",
    "stderr.ts",
    "tlsPolicy.ts",
    "watchFile.ts"
  ],
  identity: ["audit", "catalog", "contract", "limits", "settings", "wire", "regularFile.ts", "watchFile.ts"],
  telemetry: [
    "catalog",
    "contract",
    "settings",
    "wire",
    "Settings.ts",
    "listenError.ts",
    "nodeHttp.ts",
    "sockets.ts",
    "stderr.ts",
    "tlsPolicy.ts"
  ],
  stream: ["catalog", "contract", "governance", "wire"],
  cloud: ["catalog", "settings", "stream", "telemetry", "wire", "Settings.ts", "regularFile.ts", "tlsPolicy.ts"],
  guards: [
    "audit",
    "catalog",
    "cloud",
    "contract",
    "identity",
    "limits",
    "settings",
    "stream",
    "telemetry",
    "wire",
    ...["regularFile.ts", "tlsPolicy.ts", "watchFile.ts"]
  ],
  surfaces: ["catalog", "cloud", "contract", "governance", "stream", "vendors", "wire"],
  http: [
    ...[
      "audit",
      "catalog",
      "cloud",
      "contract",
      "governance",
      "guards",
      "identity",
      "limits",
      "settings",
      "stream",
      "surfaces",
      "telemetry"
    ],
    ...["vendors", "wire", "Settings.ts", "fips.ts", "nodeHttp.ts"]
  ],
  sandbox: ["catalog", "stream", "wire", "nodeHttp.ts"]
}

describe("the folders", () => {
  it.each(Object.entries(mayImport))("%s imports only what lies below it", (folder, below) => {
    const own = files.filter((file) => folderOf(file) === folder)
    assert.isNotEmpty(own)
    const up = own.flatMap((file) =>
      (graph.get(file) ?? [])
        .filter((target) => folderOf(target) !== folder && !below.includes(folderOf(target)))
        .map((target) => `${relative(root, file)} -> ${relative(root, target)}`)
    )
    assert.deepEqual(up, [])
  })

  it("are all known", () => {
    const top = [
      ...["Client.ts", "EffectClient.ts", "operators", "Server.ts", "listener.ts", "main.ts", "plainHttp.ts"],
      ...["openFiles.ts", "proxy.ts", "serve.ts", "statements.ts", "unknownSettings.ts"],
      "workers.ts"
    ]
    const known = new Set([...Object.keys(mayImport), ...top])
    assert.deepEqual(
      [...new Set(files.map(folderOf))].filter((folder) => !known.has(folder)),
      []
    )
  })

  it("the contract takes only names of the model", () => {
    const taken = files
      .filter((file) => folderOf(file) === "contract")
      .flatMap((file) => graph.get(file) ?? [])
      .filter((target) => folderOf(target) === "catalog")
    assert.deepEqual([...new Set(taken.map((target) => relative(root, target)))], ["catalog/names.ts"])
  })
})

describe("a new one of its kind", () => {
  /** Comments name nothing, nor does prose: a text with blanks in it. */
  const codeOf = (file: string): string =>
    readFileSync(file, "utf8")
      .replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm, "")
      .replace(/"[^"\n]*"/g, (text) => (text.includes(" ") ? '""' : text))
  const contributing = readFileSync(resolve(root, "../docs/CONTRIBUTING.md"), "utf8")

  it.each([
    ["surface", /\bembeddings\b|_EMBEDDINGS_/i, 9],
    ["cloud", /\bazure\b|\bAZURE_/i, 6]
  ] as const)("a %s is named in the files that the document lists", (kind, name, most) => {
    const [, section = ""] = contributing.split(`## Add a ${kind}\n`)
    const [own = ""] = section.split("\n## ")
    const written = files.filter((file) => !file.endsWith("client/contract.ts"))
    const naming = written.filter((file) => name.test(codeOf(file))).map((file) => `src/${relative(root, file)}`)
    assert.lengthOf(naming, most, naming.join("\n"))
    for (const file of naming) assert.include(own, `\`${file}\``)
  })
})

describe("imports", () => {
  it("go in no circle", () => {
    const done = new Set<string>()
    const walk = (file: string, path: ReadonlyArray<string>): void => {
      const at = path.indexOf(file)
      if (at >= 0)
        assert.fail(`a circle: ${[...path.slice(at), file].map((each) => relative(root, each)).join(" -> ")}`)
      if (done.has(file)) return
      for (const target of graph.get(file) ?? []) walk(target, [...path, file])
      done.add(file)
    }
    for (const file of files) walk(file, [])
  })
})

describe("the client's modules", () => {
  /** Every file that a module needs, and every package; types count too. */
  const reach = (entry: string) => {
    const reached = new Set<string>()
    const packages = new Set<string>()
    const walk = (file: string): void => {
      if (reached.has(file)) return
      reached.add(file)
      for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/(?:\bfrom |\bimport\()"([^.][^"]*)"/g))
        packages.add(name)
      for (const next of graph.get(file) ?? []) walk(next)
    }
    walk(join(root, entry))
    return { files: [...reached].map((file) => relative(root, file)), packages: [...packages] }
  }
  const { files, packages } = reach("EffectClient.ts")

  it("are the contract and the client, nothing of the server's", () => {
    assert.deepEqual([...new Set(files.map(dirname))].sort(), [".", "catalog", "client", "contract", "wire"])
    const shared = files.filter((file) => /^(catalog|wire)\//.test(file))
    assert.deepEqual(shared.sort(), ["catalog/names.ts", ...["json", "slices", "sse"].map((name) => `wire/${name}.ts`)])
    assert.isAbove(files.length, 12)
  })

  it("need nothing at all for promises, not even for their types", () => {
    assert.deepEqual(reach("Client.ts").packages, [])
  })

  it("need nothing but effect", () => {
    assert.deepEqual(
      packages.filter((name) => name !== "effect" && !name.startsWith("effect/")),
      []
    )
    assert.include(packages, "effect/http-api")
  })
})
