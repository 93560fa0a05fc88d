/** The bytes of a streamed reply become events, a network chunk at a time. */
import { Cause, Effect, Option, Pull } from "effect"
import type { GatewayError } from "../model/GatewayError.ts"
import type { CallSpan } from "../telemetry/callSpan.ts"
import type { Decoder, Event } from "../wire/Event.ts"
import { readExactObject } from "../wire/json.ts"
import { responseAttributes } from "./callAttributes.ts"
import { noRoom, type OpenReply } from "./dispatch.ts"
import { framingError, type Scrub } from "./fault.ts"
import type { Asked } from "./Provider.ts"

type Events = ReadonlyArray<Event>

/** One array of events a network chunk; one effect, whatever it holds. Events before a failure are not lost. */
export const decoding = (
  { next }: Pick<OpenReply, "next">,
  decoder: Decoder,
  span: Pick<CallSpan, "chunk" | "fail" | "received" | "set">,
  scrub: Scrub,
  asked: Pick<Asked, "take">
): Pull.Pull<readonly [Events], GatewayError> => {
  let noted = false
  let broken: GatewayError | undefined
  /** Bytes of an event that is not complete yet. */
  let pending = 0

  const emit = ({ events, failure }: ReturnType<Decoder["feed"]>, end: boolean): typeof pull => {
    const [first] = events
    if (!noted && first !== undefined) {
      noted = true
      span.set(responseAttributesOfEvent(first))
    }
    if (failure !== undefined) {
      broken = framingError(failure, scrub)
      span.fail(broken)
    }
    if (first === undefined && broken !== undefined) return Effect.fail(broken)
    return first === undefined && end ? Cause.done() : Effect.succeed([events])
  }
  const fail = (error: GatewayError): typeof pull => {
    span.fail(error)
    return Effect.fail(error)
  }
  const step = Pull.matchEffect(next, {
    onSuccess: (chunk): typeof pull => {
      span.chunk()
      const fed = decoder.feed(chunk)
      if (fed.events.length === 0) {
        pending += chunk.length
        if (!asked.take(chunk.length)) return fail(noRoom)
      } else if (pending > 0) {
        asked.take(-pending)
        pending = 0
      }
      return emit(fed, false)
    },
    onFailure: (cause): typeof pull => {
      const error = Option.getOrUndefined(Cause.findErrorOption(cause))
      if (error !== undefined) span.fail(error)
      return Effect.failCause(cause)
    },
    onDone: (): typeof pull => {
      span.received()
      return emit(decoder.end(), true)
    }
  })
  const pull: Pull.Pull<readonly [Events], GatewayError> = Effect.suspend(() =>
    broken === undefined ? step : Effect.fail(broken)
  )
  return pull
}

/** Longest first event that is looked into, in characters; a response event may repeat the whole request. */
const maxFirstEvent = 64 * 1024

const responseAttributesOfEvent = ({ data }: Event) =>
  data.length > maxFirstEvent ? {} : responseAttributes(readExactObject(data) ?? {})
