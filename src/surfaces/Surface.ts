/** A surface: pure functions that make the cloud's body of a request, and the caller's reply of the cloud's. */
import type { Array as Arr, Result, Schema } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Operation, Purpose } from "../catalog/names.ts"
import type { Route } from "../catalog/Route.ts"
import type { UpstreamFault } from "../catalog/UpstreamFault.ts"
import type { Scrub } from "../cloud/fault.ts"
import type { Reply } from "../cloud/Provider.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import type { Governance } from "../contract/Governance.ts"
import type { GuardedFields } from "../contract/places.ts"
import type { Called } from "../governance/accumulate.ts"
import type { Protocol, Summary } from "../stream/Frame.ts"
import type { JsonText } from "../vendors/toolCalls.ts"
import type { JsonObject } from "../wire/json.ts"
import type { Slices } from "../wire/slices.ts"

/** A request beside its body. */
export interface Arrival {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** About how many tokens the input is. */
  readonly inputEstimate: number
}

export interface ScreenedTool {
  readonly name: string
  readonly schema: unknown
}

export interface Counts {
  readonly tools: number
  readonly images: number
  readonly files: number
  /** Bytes of the body that are images and files, about: they are not counted as text. */
  readonly mediaBytes: number
}

/** What is sent to the cloud. */
export interface Prepared {
  readonly operation: Operation
  /** One body for each call: one, but for embeddings. */
  readonly bodies: Arr.NonEmptyReadonlyArray<JsonObject>
  readonly stream: boolean
  /** Tokens that are reserved for the reply (`reservedOutput`); undefined where nothing is charged. */
  readonly maxOutput: number | undefined
  /** What was changed of the request, as `name:from->to` or `name:removed`; for the header `x-gateway-adjusted`. */
  readonly adjusted?: ReadonlySet<string> | undefined
  /** Tools whose schemas were rewritten: references may lead elsewhere in them, so they are screened, too. */
  readonly rewrittenTools?: ReadonlyArray<ScreenedTool> | undefined
  /** What was changed of thinking, on the messages surface; for the header `x-gateway-thinking-adjusted`. */
  readonly thinkingAdjusted?: ReadonlySet<string> | undefined
}

export interface Ready<P extends Prepared> {
  readonly route: Route
  readonly prepared: P
}

/** JSON text or its bytes, or the value to be printed. */
export type AnswerBody = string | Uint8Array | object

/** A whole reply, before its tool calls are scanned. */
export interface Answer extends Summary {
  readonly calls: ReadonlyArray<Called>
  /** The caller's body, with what the scan found. */
  readonly body: (governance: Governance | undefined) => AnswerBody
}

/** The same after the scan, as it goes to the caller. */
export interface ScannedAnswer extends Summary {
  readonly body: AnswerBody
  readonly flags: number
}

/** Requests of every surface name their model. */
export interface NamesModel {
  readonly model: string
}

export interface Surface<Request extends NamesModel, P extends Prepared, E extends ApiError | MessagesError> {
  readonly purpose: Purpose
  /** The contract's schema of the endpoint's payload. */
  readonly schema: Schema.ConstraintDecoder<unknown>
  /** Changes a body before it is decoded, where the operator allows lists of text (`GATEWAY_TEXT_ARRAYS`). */
  readonly joinTexts?: ((body: JsonObject) => JsonObject) | undefined
  /** Makes JavaScript's numbers of those that the surface reads; all others keep their text. Without it all are JavaScript's. */
  readonly plainNumbers?: ((body: JsonObject) => JsonObject) | undefined
  /** The error as the endpoint declares it. */
  readonly error: (error: GatewayError) => E
  readonly counts: (request: Request) => Counts
  readonly tools?: ((request: Request) => ReadonlyArray<ScreenedTool>) | undefined
  /** JSON texts inside a request, which count towards the limits of its body. */
  readonly texts?: ((request: Request) => ReadonlyArray<JsonText>) | undefined
  /** Where guards find the texts of requests and replies. */
  readonly guarded: GuardedFields
  /** Makes what is sent. Refuses what the surface does not support. */
  readonly prepare: (request: Request, route: Route, arrival: Arrival) => Result.Result<P, GatewayError>
  /** Reads a whole reply. A message of the cloud's that is passed on goes through `scrub` first. */
  readonly answer: (
    prepared: P,
    reply: Pick<Reply, "body" | "bytes">,
    scrub: Scrub
  ) => Slices<Result.Result<Answer, UpstreamFault>>
  /** Translates a streamed reply; absent where the surface has no streams. */
  readonly protocol?: ((prepared: P, scrub: Scrub) => Protocol) | undefined
  /** Makes one body of the answers of several calls. */
  readonly join?: ((prepared: P, answers: ReadonlyArray<ScannedAnswer>) => AnswerBody) | undefined
  /** The error with the index of the call that failed. */
  readonly errorAt?: ((error: GatewayError, at: number) => GatewayError) | undefined
}
