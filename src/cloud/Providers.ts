/** The clouds' providers as Layers, picked at run time by the cloud that a route names. */
import { Array as Arr, Context, Duration, Effect, Layer, LayerMap, Option } from "effect"
import type { Cloud as CloudName, ServedCloud } from "../catalog/clouds.ts"
import { Clouds } from "../Settings.ts"
import type { CloudSettings } from "../settings/clouds.ts"
import { Attempts } from "./Attempts.ts"
import { azure } from "./azure.ts"
import { bedrock } from "./bedrock.ts"
import { makeProvider } from "./makeProvider.ts"
import { type Cloud, Provider } from "./Provider.ts"
import { vertex } from "./vertex.ts"

/** The active clouds, made of their settings. */
export const cloudsOf = (settings: CloudSettings): ReadonlyArray<Cloud> =>
  Arr.getSomes([
    Option.map(settings.vertex, vertex),
    Option.map(settings.bedrock, bedrock),
    Option.map(settings.azure, azure)
  ])

/** Where the region of the settings is reached. */
export const originOf = ({ endpoint, region }: Cloud): string => endpoint.baseUrl ?? endpoint.host(region)

/** Each layer is built once, and lives as long as the server: streams outlast handlers. */
export class Providers extends LayerMap.Service<Providers>()("gateway/cloud/Providers", {
  lookup: (cloud: Cloud) => Layer.effect(Provider, makeProvider(cloud)),
  dependencies: [Attempts.layer],
  idleTimeToLive: Duration.infinity
}) {}

/** The active clouds: what each is called in replies and records, and its provider. */
export const servingClouds = Effect.gen(function* () {
  const providers = yield* Providers
  const settings = yield* Clouds
  const serving = new Map<CloudName, { readonly name: ServedCloud; readonly provider: Provider["Service"] }>()
  for (const cloud of cloudsOf(settings)) {
    const name = settings.simulated ? (`sandbox-${cloud.name}` as const) : cloud.name
    serving.set(cloud.name, { name, provider: Context.get(yield* providers.contextEffect(cloud), Provider) })
  }
  return serving
})
