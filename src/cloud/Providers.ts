/** The active clouds: made of their settings, and each with its provider. */
import { Array as Arr, Effect, Option } from "effect"
import type { Cloud as CloudName, ServedCloud } from "../catalog/clouds.ts"
import { Clouds } from "../Settings.ts"
import type { CloudSettings } from "../settings/clouds.ts"
import { makeAttempts } from "./Attempts.ts"
import { azure } from "./azure.ts"
import { bedrock } from "./bedrock.ts"
import { makeProvider } from "./makeProvider.ts"
import type { Cloud, Provider } from "./Provider.ts"
import { vertex } from "./vertex.ts"

export const cloudsOf = (settings: CloudSettings): ReadonlyArray<Cloud> =>
  Arr.getSomes([
    Option.map(settings.vertex, vertex),
    Option.map(settings.bedrock, bedrock),
    Option.map(settings.azure, azure)
  ])

/** Where the region of the settings is reached. */
export const originOf = ({ endpoint, region }: Cloud): string => endpoint.baseUrl ?? endpoint.host(region)

/** What each is called in replies and records, and its provider. They live as long as the scope: streams outlast handlers. */
export const servingClouds = Effect.gen(function* () {
  const settings = yield* Clouds
  const attempts = yield* makeAttempts
  const serving = new Map<CloudName, { readonly name: ServedCloud; readonly provider: Provider }>()
  for (const cloud of cloudsOf(settings)) {
    const name = settings.simulated ? (`sandbox-${cloud.name}` as const) : cloud.name
    serving.set(cloud.name, { name, provider: yield* makeProvider(cloud, attempts) })
  }
  return serving
})
