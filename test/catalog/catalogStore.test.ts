import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Logger, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import { CatalogStore, loadCatalog, shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { clouds } from "../../src/catalog/clouds.ts"
import { bestSites } from "../../src/catalog/Partition.ts"
import { paths } from "./paths.ts"

const { models } = Result.getOrThrow(shippedCatalog)
const textOf = (...ids: ReadonlyArray<string>): string =>
  JSON.stringify({ models: models.filter(({ id }) => ids.includes(id)) })

const sites = bestSites(clouds)
const Files = NodeFileSystem.layer

const only = (file?: string, overlay?: string) => ({
  catalogFile: Option.fromUndefinedOr(file),
  catalogOverlay: Option.fromUndefinedOr(overlay)
})

/** A store on a file of its own, with what it logs. */
const watched = (text: string, at = sites, overlay?: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const directory = yield* fs.makeTempDirectoryScoped()
    const file = `${directory}/catalog.json`
    yield* fs.writeFileString(file, text)
    const changes = overlay === undefined ? undefined : `${directory}/overlay.json`
    if (changes !== undefined) yield* fs.writeFileString(changes, overlay ?? "")
    const logged: Array<{ readonly level: string; readonly text: string }> = []
    const logger = Logger.make(({ logLevel, message }) => {
      logged.push({ level: logLevel, text: String(message) })
    })
    const context = yield* Layer.build(
      CatalogStore.layer({ ...only(file, changes), sites: at, paths }).pipe(Layer.provide(Logger.layer([logger])))
    )
    const { current } = Context.get(context, CatalogStore)
    const bases = () => [...new Set(current().list.map(({ model }) => model.id))]
    /** Passes the poll interval until it is so: the file system does not run on the test's clock. */
    const until = Effect.fnUntraced(function* (isSo: () => boolean) {
      while (!isSo()) {
        yield* TestClock.adjust("2 seconds")
        yield* TestClock.withLive(Effect.sleep("2 millis"))
      }
    })
    /** What is logged after a change. A look that is under way may see the change before this returns from it. */
    const logAfter = Effect.fnUntraced(function* <E>(change: Effect.Effect<void, E>) {
      const before = logged.length
      yield* change
      yield* until(() => logged.length > before)
      return logged[before] ?? assert.fail()
    })
    /** No look sees a file that is half written. */
    const write = (path: string, text: string) =>
      Effect.andThen(fs.writeFileString(`${path}.next`, text), fs.rename(`${path}.next`, path))
    /** A look may see one of two files that have changed, and say so first. */
    const serves = (base: string | undefined) => until(() => bases().join() === base)
    return { fs, directory, file, logged, bases, logAfter, until, serves, write }
  })

describe("CatalogStore", () => {
  it.effect("serves the shipped catalog", () =>
    Effect.gen(function* () {
      const { list } = (yield* CatalogStore).current()
      assert.ok(list.some(({ id }) => id === "claude-opus-5:itar"))
    }).pipe(Effect.provide(CatalogStore.layer({ ...only(), sites, paths })), Effect.provide(Files))
  )

  it.effect("follows the changes beside the catalog, and keeps what is in force when they make no sense", () =>
    Effect.gen(function* () {
      const [one = "", two = ""] = models.map(({ id }) => id)
      const off = (...ids: ReadonlyArray<string>) =>
        JSON.stringify({ models: Object.fromEntries(ids.map((id) => [id, { off: true }])) })
      const { bases, directory, logAfter, serves, write } = yield* watched(textOf(one, two), sites, off(one))
      assert.deepStrictEqual(bases(), [two])
      yield* logAfter(write(`${directory}/overlay.json`, off(two)))
      assert.deepStrictEqual(bases(), [one])
      const { level, text } = yield* logAfter(write(`${directory}/overlay.json`, off("other")))
      assert.strictEqual(level, "Error")
      assert.include(text, "models.other: the catalog has no such model")
      assert.deepStrictEqual(bases(), [one])
      // Each file is read with what the other one holds now.
      yield* write(`${directory}/overlay.json`, off(two))
      yield* write(`${directory}/catalog.json`, textOf(two, models[2]?.id ?? ""))
      yield* serves(models[2]?.id)
      // Neither makes sense with what the other one held before.
      yield* write(`${directory}/overlay.json`, off(one))
      yield* write(`${directory}/catalog.json`, textOf(one, models[3]?.id ?? ""))
      yield* serves(models[3]?.id)
    }).pipe(Effect.provide(Files))
  )

  it.effect("lists only what active clouds serve", () =>
    Effect.gen(function* () {
      const { list } = (yield* CatalogStore).current()
      assert.deepStrictEqual([...new Set(list.map(({ deployment }) => deployment.cloud))], ["azure"])
    }).pipe(
      Effect.provide(CatalogStore.layer({ ...only(), sites: bestSites(["azure"]), paths })),
      Effect.provide(Files)
    )
  )

  it.effect("takes a changed file, refuses a broken one and keeps the old", () =>
    Effect.gen(function* () {
      const { fs, file, bases, logAfter, logged, serves, write } = yield* watched(textOf("gpt-5.1"))
      assert.deepStrictEqual(bases(), ["gpt-5.1"])

      assert.deepInclude(yield* logAfter(write(file, textOf("gpt-5.1", "gpt-oss-120b"))), { level: "Info" })
      assert.deepStrictEqual(bases(), ["gpt-5.1", "gpt-oss-120b"])

      const refused = yield* logAfter(write(file, `{"models":[{"id":"a"}]}`))
      assert.strictEqual(refused.level, "Error")
      for (const part of [file, "models[0].family: Missing key", "stays"]) assert.include(refused.text, part)
      assert.deepStrictEqual(bases(), ["gpt-5.1", "gpt-oss-120b"])

      const count = logged.length
      for (let poll = 0; poll < 5; poll++) {
        yield* TestClock.adjust("2 seconds")
        yield* TestClock.withLive(Effect.sleep("5 millis"))
      }
      assert.strictEqual(logged.length, count, "a broken file is logged once")

      assert.deepInclude(yield* logAfter(fs.remove(file)), { level: "Error" })
      assert.deepStrictEqual(bases(), ["gpt-5.1", "gpt-oss-120b"])

      yield* write(file, textOf("gpt-oss-120b"))
      yield* serves("gpt-oss-120b")
    }).pipe(Effect.provide(Files))
  )

  it.effect("warns of IDs that a reloaded catalog claims and the table does not allow, and serves the rest", () =>
    Effect.gen(function* () {
      const { file, bases, logged, until, write } = yield* watched(textOf("gpt-5.1"), {
        ...sites,
        bedrock: { place: "us-east-1" }
      })
      yield* write(file, textOf("gpt-5.1", "gpt-oss-120b", "titan-embed-text-v2"))
      yield* until(() => logged.length >= 2)
      assert.deepStrictEqual(
        logged.map(({ level }) => level),
        ["Info", "Warn"]
      )
      const warning = logged.at(-1)?.text ?? ""
      assert.match(warning, /^\d+ model IDs are not served: Bedrock region us-east-1 is not in the partition table/)
      for (const id of ["gpt-oss-120b:il5", "titan-embed-text-v2:il5+itar"]) assert.include(warning, id)
      assert.deepStrictEqual(bases(), ["gpt-5.1"])
    }).pipe(Effect.provide(Files))
  )

  it.effect("follows a swapped symbolic link, as a mounted ConfigMap changes", () =>
    Effect.gen(function* () {
      const { fs, directory, file, bases, logAfter } = yield* watched(textOf("gpt-5.1"))
      yield* fs.writeFileString(`${directory}/next.json`, textOf("gpt-oss-120b"))
      yield* fs.symlink(`${directory}/next.json`, `${directory}/link`)
      yield* logAfter(fs.rename(`${directory}/link`, file))
      assert.deepStrictEqual(bases(), ["gpt-oss-120b"])
    }).pipe(Effect.provide(Files))
  )

  it.effect("a request that began under the old catalog keeps it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* fs.makeTempFileScoped()
      yield* fs.writeFileString(file, textOf("gpt-5.1"))
      const context = yield* Layer.build(CatalogStore.layer({ ...only(file), sites, paths }))
      const { current } = Context.get(context, CatalogStore)
      const old = current()
      yield* fs.writeFileString(file, textOf("gpt-oss-120b"))
      while (current() === old) {
        yield* TestClock.adjust("2 seconds")
        yield* TestClock.withLive(Effect.sleep("2 millis"))
      }
      assert.ok(Result.isSuccess(old.resolve("gpt-5.1:il5", "chat")))
      assert.ok(Result.isFailure(current().resolve("gpt-5.1:il5", "chat")))
    }).pipe(Effect.provide(Logger.layer([])), Effect.provide(Files))
  )

  it.effect("fails at start on a broken or missing file, and says why", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* fs.makeTempFileScoped()
      yield* fs.writeFileString(file, `{"models":[{"id":"a"}]}`)
      const broken = yield* Effect.flip(Layer.build(CatalogStore.layer({ ...only(file), sites, paths })))
      assert.strictEqual(broken._tag, "CatalogError")
      assert.isAbove(broken.problems.length, 5)
      for (const part of [file, "models[0].family: Missing key", "models[0].deployments"]) {
        assert.include(broken.message, part)
      }
      const missing = yield* Effect.flip(loadCatalog(only(`${file}.missing`)))
      assert.include(missing.message, `${file}.missing`)
    }).pipe(Effect.provide(Files))
  )
})
