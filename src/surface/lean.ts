/**
 * Builds layers of the request path in a context that holds no service they do not ask for. Effect's server starts every request
 * with a copy of the context that it was built in, and each endpoint merges its own into it: with all services of the gateway in
 * both, these copies were an eighth of what a request allocated.
 */
import { Context, Effect, Layer } from "effect"

/** Keys of the gateway's own services, and of the platform's that serve files, terminals and processes. */
const heavy = /^(gateway\/|effect\/(FileSystem|Path|Terminal|process\/|http\/HttpPlatform|http\/Etag)|~effect\/Stdio)/

/** The context without services; references (log level, loggers, tracer) and `kept` stay. */
const without = (context: Context.Context<never>, kept: ReadonlySet<string>) =>
  Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => kept.has(key) || !heavy.test(key))))

/** The same layer, built with these services and no others. */
export const lean = <A, E, R>(
  layer: Layer.Layer<A, E, R>,
  ...services: ReadonlyArray<{ readonly key: string }>
): Layer.Layer<A, E, R> => {
  const kept = new Set(services.map(({ key }) => key))
  return Layer.fromBuild((memoMap, scope) =>
    Effect.updateContext(
      Layer.buildWithMemoMap(layer, memoMap, scope),
      (context: Context.Context<R>): Context.Context<R> => without(context, kept) as Context.Context<R>
    )
  )
}
