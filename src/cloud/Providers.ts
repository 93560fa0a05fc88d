/** The clouds' providers as Layers, picked at run time by the cloud that a route names. */
import { Array as Arr, Context, Duration, Effect, LayerMap, Option } from "effect"
import type { Cloud, ServedCloud } from "../catalog/clouds.ts"
import { Clouds } from "../Settings.ts"
import { activeClouds, type CloudSettings } from "../settings/clouds.ts"
import { Attempts } from "./Attempts.ts"
import * as azure from "./azure.ts"
import * as bedrock from "./bedrock.ts"
import { Provider, type Target } from "./Provider.ts"
import * as vertex from "./vertex.ts"

/** A layer is built when its cloud is first asked for, and lives as long as the server: streams outlast handlers. */
export class Providers extends LayerMap.Service<Providers>()("gateway/cloud/Providers", {
  layers: { vertex: vertex.layer, bedrock: bedrock.layer, azure: azure.layer },
  dependencies: [Attempts.layer],
  idleTimeToLive: Duration.infinity
}) {}

/** The active clouds: what each is called in replies and records, and its provider. */
export const servingClouds = Effect.gen(function* () {
  const providers = yield* Providers
  const settings = yield* Clouds
  const serving = new Map<Cloud, { readonly name: ServedCloud; readonly provider: Provider["Service"] }>()
  for (const cloud of activeClouds(settings)) {
    const provider = Context.get(yield* providers.contextEffect(cloud), Provider)
    serving.set(cloud, { name: settings.simulated ? `sandbox-${cloud}` : cloud, provider })
  }
  return serving
})

/** The active clouds, for checks without a request. */
export const targetsOf = (clouds: CloudSettings): ReadonlyArray<Target> =>
  Arr.getSomes([
    Option.map(clouds.vertex, vertex.target),
    Option.map(clouds.bedrock, bedrock.target),
    Option.map(clouds.azure, azure.target)
  ])
