/** Files that operators change while the gateway runs: keys, the catalog, certificates. */
import { hash } from "node:crypto"
import { Clock, type Duration, Effect, Metric } from "effect"
import { Audit } from "./audit/Audit.ts"

const readAt = Metric.gauge("gateway_file_read_timestamp_seconds", {
  description: "When a file was last read and could be used, by kind, in seconds since the epoch"
})
const daysLeft = Metric.gauge("gateway_certificate_expiry_days", {
  description: "Days until a certificate that is needed ends, by kind; less than 0 when it has ended"
})

/** When certificates end of which one is enough, as in a bundle of authorities. */
type Ends = ReadonlyArray<number>

/** The next end, or the last one where all have ended: an old certificate that stays in a bundle after a renewal is no alarm. */
const nextEnd = (ends: Ends, now: number): number => {
  const coming = ends.filter((end) => end > now)
  return coming.length > 0 ? Math.min(...coming) : Math.max(...ends)
}

interface WatchOptions<A, E extends { readonly message: string }, R> {
  /** What audit events call it, and where it is. */
  readonly kind: "keys" | "catalog" | "overlay" | "certificate" | "identity" | "guards"
  readonly path: string
  /** Text, or the texts of several files. */
  readonly read: Effect.Effect<A, E, R>
  /** What was read last. */
  readonly initial: A
  /** The text that says which version of it was read; undefined where there is no file. */
  readonly version: (read: A) => string | undefined
  /** SHA-256 of each file that it is read from, by path, for audit events; that of its version's text unless given. */
  readonly digests?: ((read: A) => ReadonlyMap<string, string>) | undefined
  /** When certificates in it end, in milliseconds since the epoch, by what the gauge calls them. */
  readonly ends?: ((read: A) => Readonly<Record<string, ReadonlyArray<Ends>>>) | undefined
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
export const watchFile = Effect.fnUntraced(function* <A, E extends { readonly message: string }, R>({
  kind,
  path,
  read,
  initial,
  version,
  digests = (read) => new Map([[path, hash("sha256", version(read) ?? "")]]),
  ends = () => ({}),
  every,
  take,
  complaint,
  looked = () => Effect.void
}: WatchOptions<A, E, R>) {
  const audit = yield* Audit
  let taken = version(initial)
  let told: ReadonlyMap<string, string> = new Map()
  let problem = ""
  let endsNow = ends(initial)
  const measure = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* Metric.update(Metric.withAttributes(readAt, { kind }), now / 1000)
    for (const [kind, needed] of Object.entries(endsNow)) {
      const gauge = Metric.withAttributes(daysLeft, { kind })
      const end = Math.min(...needed.map((ends) => nextEnd(ends, now)))
      // Where none is needed any more, an old value would raise an alarm for ever.
      yield* Number.isFinite(end) ? Metric.update(gauge, (end - now) / 86_400_000) : Metric.remove(gauge)
    }
  })
  /** Each file that is new or another one, and after a refusal every one. */
  const isRead = (read: A) => {
    if (taken === undefined) return
    const found = digests(read)
    for (const [path, sha256] of found) {
      if (told.get(path) !== sha256) audit({ audit: "file.read", outcome: "success", detail: { kind, path, sha256 } })
    }
    told = found
  }
  isRead(initial)
  if (taken !== undefined) yield* measure
  const look = Effect.gen(function* () {
    const latest = yield* read
    const changed = version(latest)
    if (changed !== taken) {
      yield* take(latest)
      taken = changed
      endsNow = ends(latest)
      isRead(latest)
    } else if (problem !== "") {
      isRead(latest)
      yield* Effect.logInfo(`${path} can be used again, and says what is in force`)
    }
    problem = ""
    if (taken !== undefined) yield* measure
    yield* looked(true)
  }).pipe(
    // The next look is made whatever happens.
    Effect.catchDefect((defect) => Effect.fail({ message: defect instanceof Error ? defect.message : String(defect) })),
    Effect.catch(({ message }) => {
      const isLogged = message === problem
      problem = message
      told = new Map()
      if (!isLogged) audit({ audit: "file.refused", outcome: "failure", reason: message, detail: { kind, path } })
      return Effect.andThen(isLogged ? Effect.void : Effect.logError(complaint(message)), looked(false))
    })
  )
  yield* Effect.sleep(every).pipe(Effect.andThen(look), Effect.forever, Effect.forkScoped({ startImmediately: true }))
})
