/**
 * How often one call is tried, and where: once more when the connection failed before anything was sent, once more with new
 * credentials, and once more in another region of the same deployment when one is at its limit. Never in another deployment.
 */
import { Effect } from "effect"
import type { Deployment } from "../model/Catalog.ts"
import { GatewayError } from "../model/GatewayError.ts"
import { flatMapNow, mapErrorNow } from "../wire/now.ts"
import type { CredentialError } from "./credentials/CredentialError.ts"
import type { Head } from "./dispatch.ts"
import { retryAfterOf } from "./fault.ts"
import type { Asked } from "./Provider.ts"
import { makeRegions } from "./regions.ts"
import type { Target } from "./Target.ts"
import { isUnreachable, isUnsent } from "./transport.ts"

/** One attempt as it is sent. */
export interface Wire {
  readonly target: Target
  readonly headers: Readonly<Record<string, string>>
}

/** What there is to try. */
export interface Choice {
  readonly deployment: Deployment
  /** All inside one boundary. */
  readonly regions: ReadonlyArray<string>
  /** Address and headers with credentials, for one attempt. */
  readonly prepare: (region: string) => Effect.Effect<Wire, CredentialError>
  /** Gets new credentials after a refusal; absent when they are fixed. */
  readonly refresh?: ((sent: Wire) => Effect.Effect<void, CredentialError>) | undefined
  readonly asked: Asked
}

/** One answered request, whatever its status. */
export interface Attempt<A extends Head> {
  readonly wire: Wire
  readonly region: string
  readonly reply: A
}

/** A region at its limit, or one that has no room for more. */
const full: ReadonlySet<number> = new Set([429, 503, 529])

const credentialsUnavailable = (error: CredentialError, upstreamStatus?: number) =>
  new GatewayError({
    reason: "upstream",
    message: "the gateway could not get credentials for the cloud that serves this model",
    code: "credentials",
    detail: error.message,
    upstreamStatus
  })

/** Whether another region may do what this one could not: nothing has reached it. */
const isElsewhere = (error: GatewayError): boolean => isUnreachable(error) || error.code === "circuit-open"

/** Sends one attempt, and answers with whatever the cloud said. `discard` ends a reply that nobody reads. */
export interface Sender<A extends Head> {
  readonly send: (wire: Wire) => Effect.Effect<A, GatewayError>
  readonly discard: (reply: A) => Effect.Effect<unknown>
}

type Trying<A extends Head> = Effect.Effect<Attempt<A>, GatewayError>

export const makeAttempts = () => {
  const places = makeRegions()

  const attempt = <A extends Head>(choice: Choice, region: string, { send }: Sender<A>): Trying<A> => {
    const { asked } = choice
    asked.region = region
    if (choice.regions.length > 1 && !asked.tried.includes(region)) asked.tried = [...asked.tried, region]
    return flatMapNow(
      mapErrorNow(choice.prepare(region), (error) => credentialsUnavailable(error)),
      (wire) => Effect.map(send(wire), (reply): Attempt<A> => ({ wire, region, reply }))
    )
  }

  /**
   * A connection that failed before the request was sent is tried once more, elsewhere if there is an elsewhere; with new
   * credentials, where the cloud refused the ones it was sent.
   */
  const authorized = <A extends Head>(choice: Choice, first: string, second: string | undefined, sender: Sender<A>) => {
    const renewed = (answer: Attempt<A>): Trying<A> => {
      const { refresh } = choice
      const { status } = answer.reply
      if (refresh === undefined || (status !== 401 && status !== 403)) return Effect.succeed(answer)
      return sender
        .discard(answer.reply)
        .pipe(
          Effect.andThen(Effect.mapError(refresh(answer.wire), (error) => credentialsUnavailable(error, status))),
          Effect.andThen(Effect.suspend(() => attempt(choice, answer.region, sender)))
        )
    }
    const again = (error: GatewayError): Trying<A> => {
      if (second !== undefined && isElsewhere(error)) return Effect.flatMap(attempt(choice, second, sender), renewed)
      return error.code === "connect" ? Effect.flatMap(attempt(choice, first, sender), renewed) : Effect.fail(error)
    }
    return Effect.matchEffect(attempt(choice, first, sender), { onFailure: again, onSuccess: renewed })
  }

  /** A region at its limit is left alone for as long as it says. */
  const noted = <A extends Head>({ deployment }: Choice, answer: Attempt<A>): Attempt<A> => {
    const { headers, status } = answer.reply
    if (full.has(status)) places.full(deployment, answer.region, retryAfterOf(headers))
    return answer
  }

  return <A extends Head>(choice: Choice, sender: Sender<A>): Effect.Effect<Attempt<A>, GatewayError> => {
    const { asked, deployment, regions } = choice
    const [first = "", second] = places.order(deployment, regions, asked.keyId ?? "")
    const answered = authorized(choice, first, second, sender)
    if (second === undefined) return answered
    return Effect.flatMap(answered, (answer) => {
      noted(choice, answer)
      // One region more than the first is asked, whatever for.
      if (!full.has(answer.reply.status) || answer.region !== first) return Effect.succeed(answer)
      return Effect.flatMap(sender.discard(answer.reply), () =>
        authorized(choice, second, undefined, sender).pipe(
          Effect.map((other) => noted(choice, other)),
          Effect.catchIf(isUnsent, () => {
            // Nothing came of it: what the first one said stands.
            asked.region = answer.region
            return Effect.succeed(answer)
          })
        )
      )
    })
  }
}
