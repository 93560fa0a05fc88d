/**
 * Which cloud a request asks, and what of it; and once more without the fields that the cloud refuses by name
 * (docs/decisions.md#fields-that-a-cloud-refuses). Those that are known are left out from the start.
 */
import { Context, Effect, Result } from "effect"
import type { Cloud, ServedCloud } from "../catalog/clouds.ts"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import { type Body, Provider, type UpstreamCall } from "../cloud/Provider.ts"
import { Providers } from "../cloud/Providers.ts"
import { Clouds } from "../Settings.ts"
import { activeClouds } from "../settings/clouds.ts"
import { makeRefusalMemory, maxResent, type RefusedFields, refusedIn } from "../surfaces/refusedFields.ts"
import type { Prepared, Ready } from "../surfaces/Surface.ts"
import { inOneTurn } from "../wire/turns.ts"
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

/** Makes the request without these fields. */
export type Prepare<P extends Prepared> = (fields: ReadonlySet<string>) => Result.Result<Ready<P>, GatewayError>

const none: ReadonlyArray<never> = []

export const makeResend = () => {
  const memory = makeRefusalMemory(() => performance.now())

  const withoutKnown = <P extends Prepared>(
    prepare: Prepare<P>,
    fields: ReadonlySet<string>
  ): Result.Result<Ready<P>, GatewayError> =>
    Result.flatMap(prepare(fields), (ready) => {
      const more = memory.known(ready.route.deployment, ready.prepared).filter((field) => !fields.has(field))
      return more.length === 0 ? Result.succeed(ready) : withoutKnown(prepare, new Set([...fields, ...more]))
    })

  const prepared = <P extends Prepared>(prepare: Prepare<P>, fields: Iterable<string> = none) =>
    Effect.flatMap(
      inOneTurn(() => withoutKnown(prepare, new Set(fields))),
      Effect.fromResult
    )

  /** `found`: what was refused in this request, which is remembered only when the cloud has answered the request without it. */
  const sent = <P extends Prepared, A, R>(
    ready: Ready<P>,
    record: RequestRecord,
    prepare: Prepare<P>,
    send: (ready: Ready<P>) => Effect.Effect<A, GatewayError, R>,
    found: ReadonlyArray<RefusedFields> = none
  ): Effect.Effect<A, GatewayError, R> => {
    const { prepared: asked, route } = ready
    const learned = Effect.tap(send(ready), () =>
      Effect.sync(() => {
        // A stream may have begun with a comment while the cloud is silent.
        const answered = !record.stream || record.firstEventAt !== undefined
        if (answered && found.length > 0) memory.remember(route.deployment, found)
      })
    )
    if (found.length === maxResent) return learned
    return Effect.catch(learned, (error) => {
      const refused = refusedIn(error, asked)
      // What was left out and is refused anyway cannot be helped.
      if (refused === undefined || refused.fields.some((field) => route.refused?.has(field) === true))
        return Effect.fail(error)
      // This cloud has seen the request, wherever the next attempt gets.
      record.answered()
      record.firstEventAt = undefined
      return Effect.flatMap(prepared(prepare, [...(route.refused ?? none), ...refused.fields]), (again) =>
        sent(again, record, prepare, send, [...found, refused])
      )
    })
  }

  return { prepared, sent }
}
