/** Which cloud a request asks, and what of it. */
import { Context, Effect } from "effect"
import type { Cloud, ServedCloud } from "../catalog/clouds.ts"
import type { Route } from "../catalog/Route.ts"
import { type Body, Provider, type UpstreamCall } from "../cloud/Provider.ts"
import { Providers } from "../cloud/Providers.ts"
import { Clouds } from "../Settings.ts"
import { activeClouds } from "../settings/clouds.ts"
import type { Prepared, Ready } from "../surfaces/Surface.ts"
import type { RequestRecord } from "./RequestRecord.ts"

/**
 * Picks the provider of a route, among the clouds that are active, and says what the cloud is called. Built once, when a surface's layer is:
 * the layers of the active clouds live as long as the server.
 */
export const cloudProviders = Effect.gen(function* () {
  const providers = yield* Providers
  const active = new Map<Cloud, Provider["Service"]>()
  const settings = yield* Clouds
  for (const cloud of activeClouds(settings)) {
    active.set(cloud, Context.get(yield* providers.contextEffect(cloud), Provider))
  }
  const cloudOf = ({ deployment: { cloud } }: Route): ServedCloud => (settings.simulated ? `sandbox-${cloud}` : cloud)
  const providerOf = (route: Route): Provider["Service"] => {
    const provider = active.get(route.deployment.cloud)
    if (provider === undefined) throw new Error(`no provider for ${route.deployment.cloud}`) // the resolver answers active clouds only
    return provider
  }
  return { cloudOf, providerOf }
})

/** A request that is ready to be sent, and by whom. */
export interface ReadyCall<P extends Prepared = Prepared> extends Ready<P> {
  readonly provider: Provider["Service"]
  readonly record: RequestRecord
}

/** What the call learns goes to the request's record. */
export const upstreamCall = (
  { prepared, route, record }: ReadyCall,
  body: () => Body,
  until?: number
): UpstreamCall => ({
  route,
  operation: prepared.operation,
  body,
  size: record.bytesIn,
  keyId: record.keyId,
  parent: record.span,
  attempts: record.attempts,
  until,
  takeMemory: (bytes) => record.take(bytes),
  received: (bytes) => {
    record.received += bytes
  }
})
