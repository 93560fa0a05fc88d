/** The clouds' providers as Layers, picked at run time by the cloud that a route names. */
import { Context, Duration, Effect, LayerMap } from "effect"
import type { Cloud, ServedCloud } from "../catalog/clouds.ts"
import { Clouds } from "../Settings.ts"
import { activeClouds } from "../settings/clouds.ts"
import { azure } from "./azure.ts"
import { bedrock } from "./bedrock.ts"
import { Provider } from "./Provider.ts"
import { vertex } from "./vertex.ts"

/** A layer is built when its cloud is first asked for, and lives as long as the server: streams outlast handlers. */
export class Providers extends LayerMap.Service<Providers>()("gateway/cloud/Providers", {
  layers: { vertex, bedrock, azure },
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
