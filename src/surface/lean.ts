/**
 * Builds layers of the request path in a context that holds no service they do not ask for. Effect's server starts every request
 * with a copy of the context that it was built in, and each endpoint merges its own into it: with all services of the gateway in
 * both, these copies were an eighth of what a request allocated.
 */
import { Context, Effect, Layer } from "effect"

type Key = { readonly key: string }

/** Services of the gateway's own, and of the platform's those that serve files, terminals and processes. */
const heavy =
  /^(gateway\/|effect\/(FileSystem|Path|Terminal|process\/|http\/HttpPlatform|http\/HttpRouter$|http\/Etag)|~effect\/Stdio)/
/** References (log level, loggers), which every request has from the server. */
const references = /^effect\/(References|Logger|http\/HttpMiddleware)\//

/** The same layer, built without the services whose keys match, but for `kept`. */
const without =
  (unwanted: ReadonlyArray<RegExp>) =>
  <A, E, R>(layer: Layer.Layer<A, E, R>, ...kept: ReadonlyArray<Key>): Layer.Layer<A, E, R> => {
    const keys = new Set(kept.map(({ key }) => key))
    const stays = (key: string) => keys.has(key) || !unwanted.some((pattern) => pattern.test(key))
    return Layer.fromBuild((memoMap, scope) =>
      Effect.updateContext(
        Layer.buildWithMemoMap(layer, memoMap, scope),
        (context: Context.Context<R>): Context.Context<R> =>
          Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => stays(key)))) as Context.Context<R>
      )
    )
  }

/** For the server: of the services only those named, and all references. */
export const leanServer = without([heavy])

/**
 * For endpoints: of the services only those named. What a request has then is 16 entries, for which its map has room; one more
 * would have the map grow, 1.8 kB a request.
 */
export const leanEndpoints = without([heavy, references])
