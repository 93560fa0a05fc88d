/** The catalog in force: loaded at start, and again whenever the operator's file changes. */
import { hash } from "node:crypto"
import { Context, Data, Effect, Layer, Option, Result } from "effect"
import { Audit } from "../audit/Audit.ts"
import { readRegularText } from "../regularFile.ts"
import { watchFile } from "../watchFile.ts"
import type { Catalog } from "./Catalog.ts"
import shipped from "./catalog.json" with { type: "json" }
import { checkCatalog, checkCatalogJson } from "./checkCatalog.ts"
import type { Paths } from "./explain.ts"
import type { Sites } from "./Partition.ts"
import { type Index, type LeftOut, makeIndex } from "./Resolver.ts"

export { checkCatalog } from "./checkCatalog.ts"

/** The catalog that comes with the gateway. */
export const shippedCatalog: Result.Result<Catalog, ReadonlyArray<string>> = checkCatalogJson(shipped)

/** A catalog that cannot be used. `message` has one line a problem. */
export class CatalogError extends Data.TaggedError("CatalogError")<{
  /** The file, or `shipped catalog`. */
  readonly source: string
  readonly problems: ReadonlyArray<string>
}> {
  override get message(): string {
    return [`${this.source} is not a usable catalog:`, ...this.problems].join("\n  ")
  }
}

const pollInterval = "2 seconds"

const readCatalog = (file: string): Effect.Effect<string, CatalogError> =>
  Effect.mapError(readRegularText(file), ({ isMissing, message }) => {
    const problem = isMissing ? message : `it cannot be read: ${message}`
    return new CatalogError({ source: file, problems: [problem] })
  })

const parseCatalog = (file: string, text: string): Result.Result<Catalog, CatalogError> =>
  Result.mapError(checkCatalog(text), (problems) => new CatalogError({ source: file, problems }))

/** Reads and checks the operator's catalog, or the shipped one. */
export const loadCatalog = (file: Option.Option<string>): Effect.Effect<Catalog, CatalogError> =>
  Option.match(file, {
    onNone: () =>
      Effect.fromResult(
        Result.mapError(shippedCatalog, (problems) => new CatalogError({ source: "shipped catalog", problems }))
      ),
    onSome: (path) => Effect.flatMap(readCatalog(path), (text) => Effect.fromResult(parseCatalog(path, text)))
  })

/** One line a reason: how many IDs are not served, why, and which they are. */
export const leftOutLines = (leftOut: ReadonlyArray<LeftOut>): ReadonlyArray<string> =>
  leftOut.map(({ reason, ids }) => `${ids.length} model IDs are not served: ${reason}: ${ids.join(", ")}`)

export interface CatalogStoreOptions {
  /** `GATEWAY_CATALOG_FILE`. */
  readonly file: Option.Option<string>
  /** The clouds that are configured, and where. */
  readonly sites: Sites
  /** Of the endpoints, for error messages. */
  readonly paths: Paths
}

export class CatalogStore extends Context.Service<
  CatalogStore,
  {
    /** Called once a request, so that a request sees one catalog from end to end. Costs nothing. */
    readonly current: () => Index
    /** Since when it is in force, in milliseconds since the epoch. */
    readonly since: () => number
  }
>()("gateway/catalog/CatalogStore") {
  /**
   * Fails when the catalog is broken at start. Afterwards the operator's file is read every two seconds: a changed
   * one takes effect, a broken or missing one is logged once and the catalog in force stays.
   */
  static readonly layer = ({ file, sites, paths }: CatalogStoreOptions): Layer.Layer<CatalogStore, CatalogError> =>
    Layer.effect(
      CatalogStore,
      Effect.gen(function* () {
        let since = Date.now()
        if (Option.isNone(file)) {
          const index = makeIndex(yield* loadCatalog(file), sites, paths)
          const audit = yield* Audit
          const detail = { kind: "catalog", path: "shipped", sha256: hash("sha256", JSON.stringify(shipped)) }
          audit({ audit: "file.read", outcome: "success", detail })
          return CatalogStore.of({ current: () => index, since: () => since })
        }
        const path = file.value
        const read = readCatalog(path)
        const indexOf = (text: string) =>
          Effect.map(Effect.fromResult(parseCatalog(path, text)), (catalog) => makeIndex(catalog, sites, paths))
        const initial = yield* read
        let index = yield* indexOf(initial)
        yield* watchFile({
          kind: "catalog",
          path,
          version: (text) => text,
          read,
          initial,
          every: pollInterval,
          take: Effect.fnUntraced(function* (text) {
            index = yield* indexOf(text)
            since = Date.now()
            yield* Effect.logInfo(`${path}: catalog reloaded, ${index.list.length} IDs`)
            yield* Effect.forEach(leftOutLines(index.leftOut), (line) => Effect.logWarning(line))
          }),
          complaint: (message) => `${message}\n  The catalog in force stays.`
        })
        return CatalogStore.of({ current: () => index, since: () => since })
      })
    )
}
