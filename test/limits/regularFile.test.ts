/** What stands in the place of a key, catalog or certificate file must not stop whoever reads it, nor the next revocation. */
import { execFileSync } from "node:child_process"
import fs from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import { createServer } from "node:net"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Option, Result, type Scope } from "effect"
import { vi } from "vitest"
import { loadCatalog } from "../../src/catalog/CatalogStore.ts"
import { Keys } from "../../src/limits/Keys.ts"
import { checkTlsFiles } from "../../src/listener.ts"
import { createKey, revokeKey } from "../../src/operators/keys/keysCommand.ts"
import { readRegular } from "../../src/regularFile.ts"
import { watchFile } from "../../src/watchFile.ts"
import { eventually, only, secretIn } from "./support.ts"

const directory = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

/** What may stand in a file's place, beside a file: each is made at a path. */
const obstacles: Readonly<Record<string, (path: string) => Effect.Effect<unknown, never, Scope.Scope>>> = {
  "a FIFO": (path) => Effect.sync(() => execFileSync("mkfifo", [path])),
  "a link to a FIFO": (path) =>
    Effect.promise(async () => {
      execFileSync("mkfifo", [`${path}.fifo`])
      await fs.symlink(`${path}.fifo`, path)
    }),
  "a device that never ends": (path) => Effect.promise(() => fs.symlink("/dev/zero", path)),
  "a socket": (path) =>
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer().listen(path, () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close())
    ),
  "a directory": (path) => Effect.promise(() => fs.mkdir(path))
}

describe.each(Object.entries(obstacles))("%s", (_, put) => {
  it.effect("is refused with its reason, wherever a file is read", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "file")
      yield* put(path)
      const reads: ReadonlyArray<Effect.Effect<unknown, { readonly message: string }, FileSystem.FileSystem>> = [
        readRegular(path),
        loadCatalog({ catalogFile: Option.some(path), catalogOverlay: Option.none() }),
        createKey(path, { name: "x" }),
        checkTlsFiles({ tlsCert: Option.some(path), tlsKey: Option.some(path), tlsClientCa: Option.none() })
      ]
      for (const read of reads) {
        assert.include((yield* Effect.flip(read)).message, "it is no regular file")
      }
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )

  it.effect("in the key file's place does not hold up the next revocation", () =>
    Effect.gen(function* () {
      const at = yield* directory
      const file = join(at, "keys.json")
      const secret = secretIn(yield* createKey(file, { name: "x" }))
      yield* Effect.gen(function* () {
        const keys = yield* Keys
        const accepted = Effect.sync(() => Result.isSuccess(keys.authenticate(secret, 0)))
        assert.isTrue(yield* accepted)
        yield* Effect.promise(() => fs.rename(file, join(at, "good.json")))
        yield* put(file)
        for (let look = 0; look < 8; look++) yield* eventually(Effect.succeed(true))
        assert.isTrue(yield* accepted)
        yield* revokeKey(join(at, "good.json"), (yield* only(join(at, "good.json"))).id)
        yield* Effect.promise(() => fs.rm(file, { recursive: true }))
        yield* Effect.promise(() => fs.rename(join(at, "good.json"), file))
        yield* eventually(Effect.map(accepted, (is) => !is))
      }).pipe(Effect.provide(Keys.layer({ file })))
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )
})

describe("a read that does not end", () => {
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
    syncBuiltinESMExports()
  })

  it("is given up, and no other of the same file is begun before it ends", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    const { open } = fs
    const opened = vi.spyOn(fs, "open").mockImplementation(async (...args) => {
      await answered
      return open(...args)
    })
    syncBuiltinESMExports()
    const read = () => Effect.runPromise(Effect.result(readRegular(import.meta.filename)))
    for (let look = 0; look < 4; look++) {
      const found = read()
      await vi.advanceTimersByTimeAsync(5_000)
      assert.include(Result.getOrThrow(Result.flip(await found)).message, "within 5 seconds")
    }
    assert.strictEqual(opened.mock.calls.length, 1)
    answer()
    const { bytes } = Result.getOrThrow(await read())
    assert.include(bytes.toString(), "a read that does not end")
  })
})

it.effect("a watcher goes on whatever a read does", () =>
  Effect.gen(function* () {
    const ways = [
      Effect.die(new Error("a defect")),
      Effect.sync((): string => {
        throw new TypeError("another")
      }),
      Effect.fail({ message: "no such file" }),
      Effect.succeed("new")
    ]
    let looks = 0
    const taken: Array<string> = []
    yield* watchFile({
      kind: "catalog",
      path: "some.json",
      version: (text) => text,
      read: Effect.suspend(() => ways[looks++] ?? Effect.succeed("new")),
      initial: "old",
      every: "1 second",
      take: (text) => {
        taken.push(text)
        return taken.length === 1 ? Effect.die("cannot take it") : Effect.void
      },
      complaint: (message) => message
    })
    yield* eventually(Effect.sync(() => taken.length === 2))
    assert.deepStrictEqual(taken, ["new", "new"])
  }).pipe(Effect.scoped)
)
