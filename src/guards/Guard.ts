/** What a guard is: it is asked about texts, and what it finds is blocked, flagged or redacted (docs/guards.md). */
import { Context, Data, Effect, type Tracer } from "effect"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { Level } from "../catalog/names.ts"
import type { GuardAction } from "../contract/Governance.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import type { Json } from "../wire/json.ts"
import type { GuardedSurface, PlacedText } from "./places.ts"

/** What a guard may know of a request beside its texts. No key, no header, no media. */
export interface About {
  /** The gateway's ID of the request. */
  readonly id: string
  readonly surface: GuardedSurface
  readonly level: Level
  readonly caller: CallerIdentity | undefined
  readonly images: number
  readonly files: number
  readonly span: Tracer.AnySpan | undefined
  /** Takes memory for so many bytes, and says whether there was any; less than 0 gives it back. */
  readonly takeMemory: (bytes: number) => boolean
}

export interface Asking {
  readonly about: About
  /** Of the request, or of the reply to it. */
  readonly input: "request" | "response"
  readonly texts: ReadonlyArray<PlacedText>
  /** Tool definitions and calls in the format of chat completions, for guards that look at them; they are never changed. */
  readonly tools?: ReadonlyArray<Json> | undefined
  readonly toolCalls?: ReadonlyArray<Json> | undefined
}

/** What a guard says: nothing, or what it found, in one short word. */
export interface Verdict {
  readonly category: string
  /** What may stand for the texts, one for each. Without, nothing may pass. */
  readonly texts?: ReadonlyArray<string> | undefined
}

/** A guard did not answer, or not as it should. */
export class GuardFailure extends Data.TaggedError("GuardFailure")<{
  readonly why: "boundary" | "timeout" | "unreachable" | "status" | "reply" | "texts"
}> {}

export interface Guard {
  readonly name: string
  readonly action: "block" | "flag" | "redact"
  /** Requests, replies, or both. */
  readonly when: "before" | "after" | "both"
  /** How much of a streamed reply is held back where it may be blocked or redacted. */
  readonly hold: "sentence" | "whole"
  /** What becomes of the request when the guard does not answer. */
  readonly onFailure: "refuse" | "pass"
  readonly judge: (asking: Asking) => Effect.Effect<Verdict | undefined, GuardFailure | GatewayError>
}

/** The guards that hold for a request; there only where the operator has some. */
export class Guards extends Context.Service<
  Guards,
  {
    /** In order. A request sees one list from end to end. */
    readonly of: (about: Pick<About, "caller" | "level" | "surface">) => ReadonlyArray<Guard>
  }
>()("gateway/guards/Guards") {}

/** The gateway's own: the guard was not asked, or did not answer, and the operator lets that pass. */
const unavailable: Verdict = { category: "unavailable" }

const boundaryError = (guard: string, level: Level) =>
  new GatewayError({
    reason: "forbidden",
    message: `requests of level ${level} cannot be served: the guard ${guard} has to see their text, and its declared boundary does not hold this level. Use another level, or ask the operator.`,
    code: "guard-unavailable"
  })

const unavailableError = (guard: string, { why }: GuardFailure) =>
  new GatewayError({
    reason: "overloaded",
    message: `the guard ${guard}, which has to see this text, did not answer as it should; try again in a moment`,
    retryAfter: 1,
    code: "guard-unavailable",
    detail: `the guard ${guard} failed: ${why}`
  })

export const blockedError = ({ categories, guard }: GuardAction) =>
  new GatewayError({
    reason: "invalid",
    message: `the guard ${guard} blocks this request (${categories.join(", ")}); change its text, or ask the operator`,
    code: "guard"
  })

/**
 * Asks guards in order, each about what those before it left; `acted` gets what each did. Returns what they made of the texts, with
 * `blocked` where nothing may pass, and `emptied` where one left nothing of a text. Fails where one that must answer does not.
 */
export const askGuards = Effect.fnUntraced(function* (
  guards: ReadonlyArray<Guard>,
  asking: Asking,
  acted: (action: GuardAction) => void
) {
  let texts = asking.texts
  let emptied: GuardAction | undefined
  const judged = (blocked?: GuardAction) => ({ texts: texts.map(({ text }) => text), blocked, emptied })
  for (const { action, judge, name, onFailure } of guards) {
    const verdict = yield* judge({ ...asking, texts }).pipe(
      Effect.catchTag("GuardFailure", (failure): Effect.Effect<Verdict, GatewayError> => {
        if (onFailure === "pass") return Effect.succeed(unavailable)
        const { level } = asking.about
        return Effect.fail(failure.why === "boundary" ? boundaryError(name, level) : unavailableError(name, failure))
      })
    )
    if (verdict === undefined) continue
    const { category, texts: others } = verdict
    const isFlag = action === "flag" || verdict === unavailable
    const isBlock = !isFlag && (action === "block" || others === undefined)
    const done: GuardAction = {
      guard: name,
      categories: [category],
      action: isFlag ? "flag" : isBlock ? "block" : "redact"
    }
    acted(done)
    if (isBlock) return judged(done)
    if (isFlag || others === undefined) continue
    if (others.some((other, at) => other.trim() === "" && other !== texts[at]?.text)) emptied ??= done
    texts = texts.map((text, at) => ({ ...text, text: others[at] ?? "" }))
  }
  return judged()
})
