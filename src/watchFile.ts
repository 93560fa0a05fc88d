/** Files that operators change while the gateway runs: keys, the catalog, certificates. */
import { type Duration, Effect, Equal, type Scope } from "effect"

export interface WatchOptions<A, E extends { readonly message: string }, R> {
  /** Text, or the texts of several files. */
  readonly read: Effect.Effect<A, E, R>
  /** What was read last. */
  readonly initial: A
  /** Whether two reads are the same; `Equal.equals` unless set. */
  readonly same?: ((one: A, other: A) => boolean) | undefined
  /** Between two looks. */
  readonly every: Duration.Input
  /** Takes what has changed, or fails where it cannot be used. */
  readonly take: (changed: A) => Effect.Effect<void, E, R>
  /** The log line for a problem; it names what stays in force. */
  readonly complaint: (message: string) => string
  /** Called after every look, with whether the file's content is in force. */
  readonly looked?: ((ok: boolean) => Effect.Effect<void>) | undefined
}

/**
 * Reads the file regularly until the scope closes. Texts are compared, not times: a mounted Secret or ConfigMap changes by a
 * swapped symlink, and times can stand still. A problem is logged once, until it changes or is gone.
 */
export const watchFile = <A, E extends { readonly message: string }, R>({
  read,
  initial,
  same = Equal.equals,
  every,
  take,
  complaint,
  looked = () => Effect.void
}: WatchOptions<A, E, R>): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.suspend(() => {
    let taken = initial
    let problem = ""
    const look = Effect.gen(function* () {
      const latest = yield* read
      if (!same(latest, taken)) {
        yield* take(latest)
        taken = latest
      }
      problem = ""
      yield* looked(true)
    }).pipe(
      // The next look is made whatever happens.
      Effect.catchDefect((defect) =>
        Effect.fail({ message: defect instanceof Error ? defect.message : String(defect) })
      ),
      Effect.catch(({ message }) => {
        const isLogged = message === problem
        problem = message
        return Effect.andThen(isLogged ? Effect.void : Effect.logError(complaint(message)), looked(false))
      })
    )
    return Effect.sleep(every).pipe(
      Effect.andThen(look),
      Effect.forever,
      Effect.forkScoped({ startImmediately: true }),
      Effect.asVoid
    )
  })
