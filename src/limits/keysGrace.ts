/** How long keys outlive their file: a file that is gone or broken may hide a revocation (docs/operation.md#keys). */
import { Context, Duration, Effect, Metric } from "effect"
import { steadyMillis } from "../wire/steady.ts"

const up = Metric.gauge("gateway_keys_file_up", {
  description: "Whether the keys in force are those of the key file: 0 while it is gone or broken"
})

export interface GraceOptions {
  readonly file: string
  /** Time for which the keys stay in force. */
  readonly grace: Duration.Duration
  /** No key works any more. */
  readonly end: Effect.Effect<void>
  /** The last keys that were read work again. */
  readonly restore: Effect.Effect<void>
}

/** Takes, after every look at the file, whether it could be read and used. */
export const makeGrace = ({ file, grace, end, restore }: GraceOptions) => {
  let brokenSince: number | undefined
  let ended = false
  const show = (value: number) => up.updateUnsafe(value, Context.empty())
  show(1)
  return (ok: boolean): Effect.Effect<void> =>
    Effect.flatMap(steadyMillis, (now) => {
      show(ok ? 1 : 0)
      brokenSince = ok ? undefined : (brokenSince ?? now)
      const over = brokenSince !== undefined && now - brokenSince >= Duration.toMillis(grace)
      if (over === ended) return Effect.void
      ended = over
      return over
        ? Effect.andThen(
            end,
            Effect.logError(`The API keys have ended: for ${Duration.format(grace)} ${file} could not be read or used.`)
          )
        : Effect.andThen(Effect.logInfo(`${file} can be read again, and its API keys work again.`), restore)
    })
}
