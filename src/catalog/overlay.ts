/** What an operator changes of a catalog without keeping a copy of it (docs/operation.md#changes-of-the-catalog). */
import { Result, Schema } from "effect"
import { type Catalog, Deployment, type Model } from "./Catalog.ts"
import { checkCatalogJson, decodeText } from "./checkCatalog.ts"
import { type Cloud, clouds, fieldsByCloud } from "./clouds.ts"

const { prices, quota, regions, weights } = Deployment.fields

/** Of all deployments of a model on one cloud; what is absent stays as the catalog has it. */
const Change = Schema.Struct({ off: Schema.optionalKey(Schema.Boolean), prices, quota, regions, weights })

const ModelChange = Schema.Struct({
  /** The model is not served. */
  off: Schema.optionalKey(Schema.Boolean),
  ...fieldsByCloud(Schema.optionalKey(Change))
})

/** By the base model's ID. */
export const Overlay = Schema.Struct({ models: Schema.Record(Schema.String, ModelChange) })
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
    if (model === undefined) yield `models.${id}: the catalog has no such model`
    const on = (cloud: Cloud) => model?.deployments.some((deployment) => deployment.cloud === cloud)
    for (const cloud of clouds) {
      if (model !== undefined && change[cloud] !== undefined && on(cloud) === false)
        yield `models.${id}.${cloud}: the model has no deployment there`
    }
  }
}

/** The catalog with the changes of an overlay's text. Fails with every problem, one line each, as `checkCatalog` does. */
export const withOverlay = (catalog: Catalog, text: string): Result.Result<Catalog, ReadonlyArray<string>> =>
  Result.flatMap(decodeText(Overlay, "overlay", text), (overlay) => {
    const problems = [...misplaced(catalog, overlay)]
    if (problems.length > 0) return Result.fail(problems)
    const models = catalog.models.flatMap((model) => changed(model, overlay.models[model.id]))
    return Result.mapError(checkCatalogJson({ ...catalog, models }), (problems) =>
      problems.map((problem) => `of the catalog that it makes: ${problem}`)
    )
  })
