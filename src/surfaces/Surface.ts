/** What a surface is: pure functions that say what a request asks of a cloud, and what the cloud's reply says to the caller. */
import type { Result, Schema } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Operation, Purpose } from "../catalog/names.ts"
import type { Route } from "../catalog/Route.ts"
import type { UpstreamFault } from "../catalog/UpstreamFault.ts"
import type { Body, Reply } from "../cloud/Provider.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import type { Governance } from "../contract/Governance.ts"
import type { Called } from "../governance/accumulate.ts"
import type { Protocol, Summary } from "../stream/Frame.ts"
import type { JsonText } from "../vendors/toolCalls.ts"
import type { JsonObject } from "../wire/json.ts"
import type { Slices } from "../wire/slices.ts"

/** What the gateway knows of a request beside its body. */
export interface Arrival {
  /** The gateway's ID of the request. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** About how many tokens the input is. */
  readonly inputEstimate: number
}

/** A tool definition as the screen reads it. */
export interface ScreenedTool {
  readonly name: string
  readonly schema: unknown
}

/** How much of what is in a request; never what. */
export interface Counts {
  readonly tools: number
  readonly images: number
  readonly files: number
  /** Bytes of the body that are images and files, about: they are no text. */
  readonly mediaBytes: number
}

/** What is asked of the cloud. */
export interface Prepared {
  readonly operation: Operation
  /** One body for each call: one, but for embeddings. */
  readonly bodies: ReadonlyArray<Body>
  readonly stream: boolean
  /** Tokens that are reserved for the reply (`reservedOutput`); undefined where nothing is charged. */
  readonly maxOutput: number | undefined
  /** What was changed of the request, as `name:from->to` or `name:removed`; for the header `x-gateway-adjusted`. */
  readonly adjusted?: ReadonlyArray<string> | undefined
  /** The same of thinking, on the messages surface; for the header `x-gateway-thinking-adjusted`. */
  readonly thinkingAdjusted?: ReadonlyArray<string> | undefined
}

/** A request that may be sent, and to whom. */
export interface Ready<P extends Prepared> {
  readonly route: Route
  readonly prepared: P
}

/** JSON text or its bytes, or the value to be printed. */
export type AnswerBody = string | Uint8Array | object

/** What a whole reply says, while its calls are still to be scanned. */
export interface Rendered extends Summary {
  readonly calls: ReadonlyArray<Called>
  /** As it goes to the caller, with what the scan found. */
  readonly body: (governance: Governance | undefined) => AnswerBody
}

/** A whole reply, as it goes to the caller. */
export interface Answer extends Summary {
  readonly body: AnswerBody
  readonly flags: number
}

/** Requests of every surface name their model. */
export interface NamesModel {
  readonly model: string
}

export interface Surface<Request extends NamesModel, P extends Prepared, E extends ApiError | MessagesError> {
  readonly purpose: Purpose
  /** The contract's own: its type is the endpoint's payload. */
  readonly schema: Schema.ConstraintDecoder<unknown>
  /** What is done with a body before it is judged, where the operator allows lists of text (`GATEWAY_TEXT_ARRAYS`). */
  readonly joinTexts?: ((body: JsonObject) => JsonObject) | undefined
  /** Makes JavaScript's numbers of those that are read; all others go on as they were written. Without it all are JavaScript's. */
  readonly plainNumbers?: ((body: JsonObject) => JsonObject) | undefined
  /** The error as the endpoint declares it. */
  readonly error: (error: GatewayError) => E
  readonly counts: (request: Request) => Counts
  /** Tools that the caller brings, where the operator may want them screened. */
  readonly tools?: ((request: Request) => ReadonlyArray<ScreenedTool>) | undefined
  /** JSON inside the strings of a request, which counts like its body. */
  readonly texts?: ((request: Request) => ReadonlyArray<JsonText>) | undefined
  /** What to send. Refuses what the surface does not take. */
  readonly prepare: (request: Request, route: Route, arrival: Arrival) => Result.Result<P, GatewayError>
  /** What `answer` does in one step and a large reply cannot wait for, done before it. */
  readonly ahead?: ((body: JsonObject) => Slices<void>) | undefined
  /** What a whole reply says. */
  readonly answer: (prepared: P, reply: Pick<Reply, "body" | "bytes">) => Result.Result<Rendered, UpstreamFault>
  /** How a streamed reply is said; absent where there is none. */
  readonly protocol?: ((prepared: P) => Protocol) | undefined
  /** One answer of several, where several were asked for. */
  readonly join?: ((prepared: P, answers: ReadonlyArray<Answer>) => Answer) | undefined
  /** Which of several calls failed, for the message. */
  readonly errorAt?: ((error: GatewayError, at: number) => GatewayError) | undefined
}
