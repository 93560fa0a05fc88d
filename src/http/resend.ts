/**
 * A request without the fields that its cloud refuses (docs/decisions.md#fields-that-a-cloud-refuses): those that are known are left
 * out, and where the cloud refuses one by name, the request is sent again without it.
 */
import { Effect, Result } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { makeRefusalMemory, maxResent, type RefusedFields, refusedIn } from "../surfaces/refusedFields.ts"
import type { Prepared, Ready } from "../surfaces/Surface.ts"
import { inOneTurn } from "../wire/turns.ts"
import type { RequestRecord } from "./RequestRecord.ts"

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
