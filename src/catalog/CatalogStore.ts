/**
 * The catalog in force: loaded at start, and again whenever the operator's file changes; and what an operator changes of a catalog
 * without keeping a copy of it (docs/operation.md#changes-of-the-catalog).
 */
import { hash } from "node:crypto"
import { Context, Data, Effect, Layer, Option, Result, Schema } from "effect"
import { Audit } from "../audit/Audit.ts"
import { readRegularText } from "../regularFile.ts"
import { watchFile } from "../watchFile.ts"
import { nearest } from "../wire/nearest.ts"
import { Catalog, Deployment, type Model } from "./Catalog.ts"
import shipped from "./catalog.json" with { type: "json" }
import { checkCatalog, checkCatalogJson, decodeJson, parseText } from "./checkCatalog.ts"
import { clouds, fieldsByCloud } from "./clouds.ts"
import type { Sites } from "./Partition.ts"
import { type Index, makeIndex, type Paths } from "./Resolver.ts"

const { prices, quota, regions, weights } = Deployment.fields

/** Of all deployments of a model on one cloud; what is absent stays as the catalog has it. */
const Change = Schema.Struct({ off: Schema.optionalKey(Schema.Boolean), prices, quota, regions, weights })

const ModelChange = Schema.Struct({
  /** The model is not served. */
  off: Schema.optionalKey(Schema.Boolean),
  ...fieldsByCloud(Schema.optionalKey(Change))
})

/** By the base model's ID. */
export const Overlay = Schema.Struct({
  $schema: Catalog.fields.$schema,
  models: Schema.Record(Schema.String, ModelChange)
})
export type Overlay = typeof Overlay.Type

const changed = (model: Model, change: typeof ModelChange.Type | undefined): ReadonlyArray<object> => {
  if (change === undefined) return [model]
  const deployments = model.deployments.flatMap((deployment) => {
    const { off = false, ...fields } = change[deployment.cloud] ?? {}
    return off ? [] : [{ ...deployment, ...fields }]
  })
  return change.off === true || deployments.length === 0 ? [] : [{ ...model, deployments }]
}

function* misplaced({ models }: Catalog, overlay: Overlay): Generator<string> {
  for (const [id, change] of Object.entries(overlay.models)) {
    const model = models.find((model) => model.id === id)
    if (model === undefined) {
      const meant = nearest(
        id,
        models.map((model) => model.id)
      )
      yield `models.${id}: the catalog has no such model${meant ? ` (is ${meant} meant?)` : ""}`
      continue
    }
    const own = new Set(model.deployments.map(({ cloud }) => cloud))
    for (const cloud of clouds) {
      if (change[cloud] !== undefined && !own.has(cloud))
        yield `models.${id}.${cloud}: the model has no deployment there, only on ${[...own].join(", ")}`
    }
  }
}

/** The catalog with the changes of an overlay's text. Fails with every problem, one line each, as `checkCatalog` does. */
export const withOverlay = (catalog: Catalog, text: string): Result.Result<Catalog, ReadonlyArray<string>> =>
  Result.gen(function* () {
    const overlay = yield* decodeJson(Overlay, "overlay", yield* parseText("overlay", text))
    const problems = [...misplaced(catalog, overlay)]
    if (problems.length > 0) return yield* Result.fail(problems)
    const models = catalog.models.flatMap((model) => changed(model, overlay.models[model.id]))
    return yield* Result.mapError(checkCatalogJson({ ...catalog, models }), (problems) =>
      problems.map((problem) => `of the catalog that it makes: ${problem}`)
    )
  })

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

/** The operator's files: a catalog in the place of the shipped one, and changes of whichever it is. */
export interface CatalogFiles {
  /** `GATEWAY_CATALOG_FILE`. */
  readonly catalogFile: Option.Option<string>
  /** `GATEWAY_CATALOG_OVERLAY`. */
  readonly catalogOverlay: Option.Option<string>
  /** Those of them that a command was given, rather than by settings. */
  readonly given?: ReadonlyArray<string>
}

const settings = { catalog: "GATEWAY_CATALOG_FILE", overlay: "GATEWAY_CATALOG_OVERLAY" } as const
type Role = keyof typeof settings

/** A file with its text, and what errors call it. */
const readOne = Effect.fnUntraced(function* (role: Role, file: string, given: ReadonlyArray<string> = []) {
  const setting = settings[role]
  const isGiven = given.includes(file)
  const source = isGiven ? file : `${setting}: ${file}`
  const advice = isGiven ? "" : ". Name another, or unset it"
  const text = yield* Effect.mapError(
    readRegularText(file),
    ({ message }) => new CatalogError({ source, problems: [`it cannot be read: ${message}${advice}`] })
  )
  return { file, source, text }
})

/** Each by its role. */
const readTexts = Effect.fnUntraced(function* ({ catalogFile, catalogOverlay, given }: CatalogFiles) {
  const read = (role: Role, file: Option.Option<string>) =>
    Option.match(file, { onNone: () => Effect.undefined, onSome: (file) => readOne(role, file, given) })
  return { catalog: yield* read("catalog", catalogFile), overlay: yield* read("overlay", catalogOverlay) }
})
type Texts = Effect.Success<ReturnType<typeof readTexts>>

const refusedAs = (source: string) =>
  Result.mapError((problems: ReadonlyArray<string>) => new CatalogError({ source, problems }))

const catalogOf = ({ catalog, overlay }: Texts): Result.Result<Catalog, CatalogError> => {
  const base =
    catalog === undefined
      ? refusedAs("shipped catalog")(shippedCatalog)
      : refusedAs(catalog.source)(checkCatalog(catalog.text))
  return overlay === undefined
    ? base
    : Result.flatMap(base, (base) => refusedAs(overlay.source)(withOverlay(base, overlay.text)))
}

/** What it is called for people. */
export const catalogSource = ({ catalogFile, catalogOverlay }: CatalogFiles): string =>
  [Option.getOrElse(catalogFile, () => "shipped"), ...Option.toArray(catalogOverlay)].join(" with ")

/** Reads and checks the operator's catalog, or the shipped one, with the operator's changes. */
export const loadCatalog = (files: CatalogFiles): Effect.Effect<Catalog, CatalogError> =>
  Effect.flatMap(readTexts(files), (texts) => Effect.fromResult(catalogOf(texts)))

/** One line a reason: how many IDs are not served, why, and which they are. */
export const leftOutLines = (leftOut: Index["leftOut"]): ReadonlyArray<string> =>
  leftOut.map(({ reason, ids }) => `${ids.length} model IDs are not served: ${reason}: ${ids.join(", ")}`)

type CatalogStoreOptions = CatalogFiles & { readonly sites: Sites; readonly paths: Paths }

/**
 * Fails when the catalog is broken at start. Afterwards the operator's files are read every two seconds: a changed
 * one takes effect, a broken or missing one is logged once and the catalog in force stays.
 */
const make = Effect.fnUntraced(function* ({ sites, paths, ...files }: CatalogStoreOptions) {
  let since = Date.now()
  const texts = yield* readTexts(files)
  const indexOf = (texts: Texts) =>
    Effect.map(Effect.fromResult(catalogOf(texts)), (catalog) => makeIndex(catalog, sites, paths))
  let index = yield* indexOf(texts)
  if (texts.catalog === undefined) {
    const audit = yield* Audit
    // As `doctor --evidence` has it where nothing is changed of it.
    const base = yield* Effect.fromResult(catalogOf({ catalog: undefined, overlay: undefined }))
    const detail = { kind: "catalog", path: "shipped", sha256: hash("sha256", JSON.stringify(base)) }
    audit({ audit: "file.read", outcome: "success", detail })
  }
  for (const role of ["catalog", "overlay"] as const) {
    const initial = texts[role]
    if (initial === undefined) continue
    const { file } = initial
    yield* watchFile({
      kind: role,
      path: file,
      version: ({ text }) => text,
      read: readOne(role, file),
      initial,
      every: "2 seconds",
      take: Effect.fnUntraced(function* (latest) {
        // The other file may have changed with it, and not be read yet.
        index = yield* indexOf({ ...(yield* readTexts(files)), [role]: latest })
        since = Date.now()
        yield* Effect.logInfo(`${file}: catalog reloaded, ${index.list.length} IDs`)
        yield* Effect.forEach(leftOutLines(index.leftOut), (line) => Effect.logWarning(line))
      }),
      complaint: (message) => `${message}\n  The catalog in force stays.`
    })
  }
  return {
    /** Called once a request, so that a request sees one catalog from end to end. Costs nothing. */
    current: () => index,
    /** Since when it is in force, in milliseconds since the epoch. */
    since: () => since
  }
})

export class CatalogStore extends Context.Service<CatalogStore, Effect.Success<ReturnType<typeof make>>>()(
  "gateway/catalog/CatalogStore"
) {
  static readonly layer = (options: CatalogStoreOptions) => Layer.effect(CatalogStore, make(options))
}
