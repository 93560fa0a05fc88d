import { execFile, execFileSync } from "node:child_process"
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { haveTools, toolFile } from "../tools/tools.ts"
import { type FakeGateway, fakeGateway, json } from "./fakeGateway.ts"

const root = resolve(import.meta.dirname, "../..")
const manifest = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"))

describe("the package", () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-client-"))
  const app = join(directory, "app")
  const node = process.execPath
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const run = (file: string, args: ReadonlyArray<string>, cwd: string): Promise<string> =>
    new Promise((done, fail) =>
      execFile(file, args, { cwd, timeout: 60_000 }, (error, stdout, stderr) =>
        error === null ? done(stdout) : fail(new Error(`${error.message}\n${stdout}\n${stderr}`))
      )
    )
  let gateway: FakeGateway

  it("is the gateway's own version, and installs nothing: effect is for those who use that face", () => {
    const [client, gateway] = [manifest("src/client/package.json"), manifest("package.json")]
    assert.strictEqual(client.name, gateway.name)
    assert.strictEqual(client.version, gateway.version)
    assert.isUndefined(client.dependencies)
    assert.deepEqual(client.peerDependencies, { effect: gateway.dependencies.effect })
    assert.deepEqual(client.peerDependenciesMeta, { effect: { optional: true } })
  })

  /** What `npm run build` and `npm pack` do, in a directory of its own. */
  beforeAll(async () => {
    gateway = await fakeGateway(json(200, { status: "ok", service: "s", version: "1" }, { "x-request-id": "r" }))
    const pack = join(directory, "package")
    mkdirSync(pack)
    for (const file of ["src/client/package.json", "src/client/README.md", "LICENSE"]) {
      copyFileSync(join(root, file), join(pack, basename(file)))
    }
    const { name } = manifest("src/client/package.json")
    await run(node, [tsc, "-p", join(root, "src/tsconfig.client.json"), "--singleThreaded", "--outDir", pack], root)
    await run("npm", ["pack", "--offline", "--pack-destination", directory], pack)
    const tarball = readdirSync(directory).find((file) => file.endsWith(".tgz"))
    const installed = join(app, "node_modules", name)
    mkdirSync(installed, { recursive: true })
    await run("tar", ["-xzf", join(directory, tarball ?? "none"), "-C", installed, "--strip-components=1"], directory)
    symlinkSync(join(root, "node_modules/effect"), join(app, "node_modules/effect"))
  }, 60_000)
  afterAll(async () => {
    await gateway.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  // Of several threads, which one checks a file first may decide the order of a union's types.
  it("is built by npm run build as it is here, the same each time, with nothing of an earlier build", () => {
    const { build } = manifest("package.json").scripts
    assert.strictEqual(
      build,
      "rm -rf dist && tsc -p src/tsconfig.client.json --singleThreaded && cp src/client/package.json src/client/README.md LICENSE dist/"
    )
  })

  it.skipIf(!haveTools())("is small in a browser, and brings no library", () => {
    const entry = join(app, "browser.js")
    const out = join(app, "browser.min.js")
    writeFileSync(entry, 'export * from "government-model-gateway/client"\n')
    execFileSync(
      toolFile(".bin", "esbuild"),
      [entry, "--bundle", "--minify", "--format=esm", "--platform=browser", `--outfile=${out}`],
      { cwd: app, stdio: "pipe" }
    )
    const bundle = readFileSync(out)
    assert.isBelow(gzipSync(bundle).length, 8 * 1024)
    assert.notInclude(bundle.toString("utf8"), "effect/")
  })

  it("holds both faces with their declarations and maps, what a reader needs, and no sources", async () => {
    const files = (await run("find", [".", "-type", "f"], join(app, "node_modules/government-model-gateway"))).split(
      "\n"
    )
    assert.include(files, "./Client.js")
    const wanted = ["Client.d.ts", "Client.js.map", "EffectClient.js", "EffectClient.d.ts", "README.md", "LICENSE"]
    for (const file of wanted) assert.include(files, `./${file}`)
    const map = JSON.parse(
      readFileSync(join(app, "node_modules/government-model-gateway/client/promises.js.map"), "utf8")
    )
    assert.include(map.sourcesContent[0], "createClient")
    assert.deepEqual(
      files.filter((file) => /\.ts$/.test(file) && !/\.d\.ts$/.test(file)),
      []
    )
  })

  it("compiles in a fresh strict project, and its types refuse a model without a level", async () => {
    writeFileSync(join(app, "package.json"), JSON.stringify({ type: "module" }))
    writeFileSync(
      join(app, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          target: "ES2022",
          module: "NodeNext",
          lib: ["ES2023", "DOM", "DOM.AsyncIterable"],
          types: [],
          outDir: "out",
          skipLibCheck: false
        },
        include: ["main.ts"]
      })
    )
    writeFileSync(
      join(app, "main.ts"),
      `import { createClient, StreamError } from "government-model-gateway/client"
import { GatewayClient } from "government-model-gateway/effect"
const client = createClient({ baseUrl: ${JSON.stringify(gateway.url)}, apiKey: "k" })
export async function* words(): AsyncIterable<string> {
  for await (const chunk of client.chat.stream({ model: "m:il5", messages: [{ role: "user", content: "Hi" }] })) {
    const text: string | null | undefined = chunk.choices[0]?.delta.content
    yield text ?? ""
  }
}
// @ts-expect-error a level that does not exist
export const refused = () => client.chat.completions({ model: "m:il9", messages: [] })
const { status } = await client.health()
console.log(status, typeof StreamError, typeof GatewayClient)
`
    )
    await run(node, [tsc, "-p", ".", "--singleThreaded"], app)
  })

  it("runs on a plain Node, without flags", async () => {
    assert.strictEqual((await run(node, ["out/main.js"], app)).trim(), "ok function function")
  })
})
