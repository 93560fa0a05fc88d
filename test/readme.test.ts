/** Every snippet of the documents works: run against a gateway in the sandbox where that needs no tool of others. */
import { execFile, spawnSync } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { clouds } from "../src/catalog/clouds.ts"
import { layerFile } from "../src/limits/sqliteStore.ts"
import { load } from "../src/Settings.ts"
import { activeClouds } from "../src/settings/clouds.ts"
import { sharedCommands } from "./operation/commands.ts"
import { type Gateway, startGateway } from "./support/gateway.ts"
import { eventsIn, parsed } from "./support/http.ts"
import { type Block, blocks, readme, root, spans, variablesIn } from "./support/readme.ts"
import { haveTools, toolFile } from "./tools/tools.ts"

const home = mkdtempSync(join(tmpdir(), "gateway-readme-"))
/** What `npm run gateway --` runs. */
const gatewayCommand = `${process.execPath} --import ${join(root, "src/installed.js")} ${join(root, "src/main.ts")}`
const stated = "http://127.0.0.1:8080"
let gateway: Gateway

/** The project's packages, and those that only tests use, beside each other as a user would install them. */
const linkPackages = (to: string) => {
  const link = (from: string, at: string) => {
    for (const name of readdirSync(from)) if (!existsSync(join(at, name))) symlinkSync(join(from, name), join(at, name))
  }
  mkdirSync(to, { recursive: true })
  if (haveTools()) link(toolFile(), to)
  link(join(root, "node_modules"), to)
}

/** The counts of a gateway that has served nobody yet, where commands look for them. */
const keepCounts = (directory: string) =>
  Effect.runPromise(Effect.scoped(Layer.build(layerFile(join(directory, ".gateway")))))

beforeAll(async () => {
  await keepCounts(home)
  gateway = await startGateway({ docs: true })
  linkPackages(join(home, "node_modules"))
  // What the commands of the documents read.
  for (const name of ["usage.jsonl", "gateway.log"]) writeFileSync(join(home, name), "")
  writeFileSync(join(home, "usage.jsonl.1.gz"), gzipSync(""))
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  writeFileSync(join(home, "records.pub"), publicKey.export({ type: "spki", format: "pem" }))
})
afterAll(async () => {
  await gateway.stop()
  rmSync(home, { recursive: true, force: true })
})

const has = (command: string, ...args: ReadonlyArray<string>) => spawnSync(command, args).status === 0
const python = has("python3", "-c", "import ast, tomllib")
const curl = has("curl", "--version") && has("bash", "-c", "true")

const inLanguage = (...languages: ReadonlyArray<string>): ReadonlyArray<Block> =>
  blocks.filter(({ language }) => languages.includes(language))
const named = ({ file, line, section }: Block) => `${file}:${line}, ${section}`
const here = (text: string) => text.replaceAll(stated, gateway.url)

/** Runs a command to its end, in a directory of the test's; rejects with what it said when it fails. */
const run = (file: string, args: ReadonlyArray<string>, input = "", directory = home): Promise<string> =>
  new Promise((done, fail) => {
    const child = execFile(
      file,
      args,
      { cwd: directory, timeout: 50_000, env: { PATH: process.env.PATH, GATEWAY_SANDBOX: "auto" } },
      (error, stdout, stderr) =>
        error === null ? done(stdout) : fail(new Error(`${error.message}\n${stdout}\n${stderr}`))
    )
    child.stdin?.end(input)
  })

it("every snippet is in a language that is checked", () => {
  const checked = ["sh", "ts", "python", "json", "toml", "yaml", "text", "powershell", "go", "java"]
  for (const block of blocks) assert.include(checked, block.language, named(block))
})

describe("Go", () => {
  it.skipIf(!has("gofmt", "-h")).concurrent.each(inLanguage("go").map((block) => [named(block), block] as const))(
    "%s parses",
    async (_, { text }) => {
      await run("gofmt", ["-e"], `package main\n\nfunc main() {\n${text}\n}\n`)
    }
  )
})

describe("Java", () => {
  it.skipIf(!has("javac", "-version")).concurrent("parses", async () => {
    const methods = inLanguage("java").map(({ text }, at) => `void snippet${at}() {\n${text}\n}\n`)
    writeFileSync(join(home, "Snippets.java"), `class Snippets {\n${methods.join("")}}\n`)
    // No further than that, because the libraries are not here.
    await run("javac", [
      "-proc:none",
      "-XDshould-stop.ifNoError=PARSE",
      "-XDshould-stop.ifError=PARSE",
      "Snippets.java"
    ])
  })
})

/** The commands of a block; a backslash at the end of a line joins it with the next. */
const commandsOf = ({ text }: Block): ReadonlyArray<string> =>
  text
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
const commands = inLanguage("sh").flatMap((block) => commandsOf(block).map((command) => ({ command, block })))

describe("shell", () => {
  it.concurrent.each(inLanguage("sh").map((block) => [named(block), block] as const))("%s parses", async (_, block) => {
    await run("bash", ["-n"], block.text)
  })

  /** What the text around a request says of its answer. */
  const answers: ReadonlyArray<readonly [request: string, check: (reply: string) => void]> = [
    [
      "What can you do?",
      (reply) => {
        const events = eventsIn(reply).map(({ event }) => event)
        assert.strictEqual(events[0], "message_start")
        assert.strictEqual(events.at(-1), "message_stop")
      }
    ],
    [
      "gemini-3-flash:il2",
      (reply) => {
        const headers = spans(readme.prose).filter((span) => /^x-gateway-served-[a-z]+: ./.test(span))
        assert.lengthOf(headers, 2)
        assert.match(reply, /^HTTP\/1\.1 200 /)
        for (const header of headers) assert.include(reply, `${header}\r\n`)
      }
    ],
    [
      "webhook_url",
      (reply) => {
        const { error } = parsed(reply)
        assert.strictEqual(error.type, "invalid_request_error")
        assert.include(error.message, "webhook_url")
      }
    ],
    [
      "[sandbox: tool=fetch",
      (reply) => {
        const shown = parsed(inLanguage("json").find(({ text }) => text.includes("x_gateway_governance"))?.text ?? "{}")
        const { x_gateway_governance } = parsed(reply.replace(/"toolu_\w+"/g, '"toolu_…"'))
        assert.deepEqual(shown, { x_gateway_governance })
      }
    ]
  ]

  const requests = commands.map(({ command }) => command).filter((command) => /^curl .*127\.0\.0\.1:8080/.test(command))
  it("what is checked of the requests' answers belongs to one of them", () => {
    for (const [request] of answers)
      assert.lengthOf(
        requests.filter((command) => command.includes(request)),
        1,
        request
      )
  })
  describe.skipIf(!curl)("requests", () => {
    it.concurrent.each(requests)("%s", async (command) => {
      const reply = await run("bash", ["-c", here(command)])
      const check = answers.find(([request]) => command.includes(request))?.[1]
      if (check === undefined) assert.notProperty(parsed(reply), "error")
      else check(reply)
    })
  })

  // Some stand in two documents; once is enough.
  const ours = [
    ...new Set(
      commands
        .map(({ command }) => command.replace(/\s+#.*$/, ""))
        .filter((command) => command.startsWith("npm run gateway -- "))
    )
  ]
  const inShell = (shown: string, input: string) =>
    run("bash", ["-c", shown.replace("npm run gateway --", gatewayCommand)], input)
  const runCommand = sharedCommands()
  /** Without what only a shell does. */
  const cli = async (shown: string, directory: string) => {
    const words = [...shown.replace("npm run gateway -- ", "").matchAll(/'([^']*)'|\S+/g)]
    const { code, stderr, stdout } = await runCommand(
      words.map(([word, quoted = word]) => quoted),
      { GATEWAY_SANDBOX: "auto" },
      directory
    )
    assert.strictEqual(code, 0, stderr)
    return stdout
  }

  const isAboutKeys = (command: string) => /-- (keys|teams) /.test(command)
  it("keys and teams are created, listed, rotated and revoked as shown", async () => {
    const directory = join(home, "keys")
    await keepCounts(directory)
    let id = ""
    for (const command of ours.filter(isAboutKeys)) {
      const said = await cli(command.replace(/\bID\b/, id), directory)
      id = /\bkey_\w+/.exec(said)?.[0] ?? id
      if (/ keys (create|rotate) /.test(command)) assert.match(said, /\bgmg_[\w-]{40}/, command)
      else if (command.includes("--unused")) assert.include(said, "was used within 30d", command)
      else assert.include(said, / teams /.test(command) ? "blue" : id, command)
    }
    assert.include(readFileSync(join(directory, "keys.json"), "utf8"), id)
  }, 60_000)

  it.each(ours.filter((command) => !isAboutKeys(command)))("%s", async (command) => {
    if (/-- chat /.test(command)) {
      const model = /--model (\S+):(\S+)/.exec(command)
      const said = await inShell(`${command} --url ${gateway.url}`, "Why is the sky blue?\n")
      assert.include(said, "sky")
      assert.match(said, new RegExp(`^served by \\S+ at ${model?.[2]} `, "m"))
    } else assert.isNotEmpty(await (command.includes("<") ? inShell(command, "") : cli(command, home)))
  })

  /** `NAME=value`, exported or before a command. */
  const assigned = ({ text }: Block) =>
    Object.fromEntries(
      [...text.matchAll(/(?<=^|\s)([A-Z][A-Z0-9_]*)=([^\s'"]+|'[^']*'|"[^"]*")/g)].map(
        ([, name = "", value = ""]) => [name, value.replace(/^['"]|['"]$/g, "")] as const
      )
    )

  it.each(inLanguage("sh").map((block) => [named(block), block] as const))("%s sets what can be set", (_, block) => {
    const variables = assigned(block)
    Effect.runSync(load(variables))
  })

  it("all clouds are activated as shown", () => {
    const block = inLanguage("sh").find(({ text }) => variablesIn(text).has("VERTEX_PROJECT"))
    assert.strictEqual(block?.section, "Running")
    if (block === undefined) return
    assert.sameMembers([...activeClouds(Effect.runSync(load(assigned(block))).clouds)], [...clouds])
  })
})

describe("TypeScript", () => {
  // The README's is also among the clients'.
  const snippets = new Map(inLanguage("ts").map((block) => [block.text, block]))
  const files = [...snippets.values()].map((block, index) => ({ block, file: `snippet${index}.ts` }))

  beforeAll(() => {
    const { name, exports } = parsed(readFileSync(join(root, "src/client/package.json"), "utf8"))
    assert.property(exports, "./client")
    writeFileSync(join(home, "package.json"), '{"type":"module"}')
    writeFileSync(
      join(home, "tsconfig.json"),
      JSON.stringify({
        extends: join(root, "src/tsconfig.client.json"),
        compilerOptions: {
          noEmit: true,
          declaration: false,
          rewriteRelativeImportExtensions: false,
          rootDir: "/",
          types: ["node"],
          typeRoots: [join(root, "node_modules/@types")]
        },
        files: files.map(({ file }) => file)
      })
    )
    for (const { block, file } of files) {
      // The package's own name leads to its sources; that the built package works is a test of the client's.
      const source = here(block.text).replace(`"${name}/client"`, JSON.stringify(join(root, "src/Client.ts")))
      writeFileSync(join(home, file), source)
    }
  })

  it.concurrent("compiles, strictly", async () => {
    await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", home, "--singleThreaded"])
  })

  it.concurrent("runs", async () => {
    // In one process: some libraries are loaded by several.
    const all = files.map(({ file }) => `await import("./${file}")\nconsole.log("\\0")\n`)
    writeFileSync(join(home, "all.ts"), all.join(""))
    const said = await run(process.execPath, ["--import", join(root, "src/installed.js"), join(home, "all.ts")])
    const each = said.split("\0\n")
    for (const [at, { block }] of files.entries()) assert.match(each[at] ?? "", /sky/, named(block))
  })
})

describe("PowerShell", () => {
  /** Where a command sends what, and whether with the key. */
  const sends = (command: string) => ({
    url: /http:\S+/.exec(command)?.[0],
    body: parsed(/(?<= -(?:d|Body) ')[^']*/.exec(command)?.[0] ?? ""),
    key: /'?x-api-key'?(?:: | = ')sandbox-key'/.test(command)
  })
  const readmeRequests = commands
    .filter(({ block, command }) => block.file === "README.md" && command.startsWith("curl "))
    .map(({ command }) => sends(command.replaceAll("\\\n", " ")))

  it("has a form of each request of the README", () => {
    const forms = inLanguage("powershell").map(({ text }) => sends(text.replaceAll("`\n", " ")))
    assert.deepStrictEqual(forms, readmeRequests)
  })
})

describe("other languages", () => {
  it.skipIf(!python).concurrent("Python parses", async () => {
    const script = "import ast, json, sys\nfor name, text in json.load(sys.stdin): ast.parse(text, name)"
    await run(
      "python3",
      ["-c", script],
      JSON.stringify(inLanguage("python").map((block) => [named(block), block.text]))
    )
  })

  it.skipIf(!python).concurrent.each(inLanguage("toml").map((block) => [named(block), block] as const))(
    "TOML: %s",
    async (_, block) => {
      const script = "import json, sys, tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))"
      const config = parsed(await run("python3", ["-c", script], block.text))
      const provider = config.model_providers[config.model_provider]
      assert.strictEqual(provider.base_url, `${stated}/v1`)
      const key = provider.env_http_headers["x-api-key"]
      assert.isTrue(commands.some(({ command }) => command.startsWith(`${key}=sandbox-key `)))
    }
  )

  it.each(inLanguage("json").map((block) => [named(block), block] as const))("JSON: %s parses", (_, block) => {
    JSON.parse(block.text)
  })

  it.each(inLanguage("yaml").map((block) => [named(block), block] as const))("YAML: %s parses", async (_, block) => {
    const { parseAllDocuments } = await import("yaml")
    for (const document of parseAllDocuments(block.text)) assert.isEmpty(document.errors)
  })
})
