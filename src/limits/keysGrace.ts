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

/** Told after every look at the file whether it could be read and used. */
export const makeGrace = ({ file, grace, end, restore }: GraceOptions) => {
  let since: number | undefined
  let ended = false
  const show = (value: number) => up.updateUnsafe(value, Context.empty())
  show(1)

  const well = Effect.suspend(() => {
    if (since === undefined) return Effect.void
    since = undefined
    show(1)
    if (!ended) return Effect.void
    ended = false
    return Effect.andThen(Effect.logInfo(`${file} is mended, and its API keys work again.`), restore)
  })

  const broken = Effect.flatMap(steadyMillis, (now) => {
    since ??= now
    show(0)
    if (ended || now - since < Duration.toMillis(grace)) return Effect.void
    ended = true
    return Effect.andThen(
      end,
      Effect.logError(`The API keys have ended: for ${Duration.format(grace)} ${file} could not be read or used.`)
    )
  })
  return (isWell: boolean): Effect.Effect<void> => (isWell ? well : broken)
}
