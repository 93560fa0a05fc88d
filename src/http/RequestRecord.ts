/**
 * The facts of one request, written by each step that learns one. The usage record, the log line, the span and the metrics are made
 * from it once, when the request is over (`RequestFacts`). It holds no payload; it counts the memory that the request holds.
 */
import { getHeapStatistics } from "node:v8"
import { Context, Effect, type Tracer } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { surfaces } from "../catalog/names.ts"
import { type Outcome, outcomeOf, RequestFacts } from "../catalog/RequestFacts.ts"
import { costOf, estimateOf, isCount, type Tokens } from "../catalog/Tokens.ts"
import type { Attempt } from "../cloud/Provider.ts"
import type { GuardAction } from "../contract/Governance.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import type { Reservation } from "../limits/Quota.ts"
import { errorHeaders } from "../surfaces/errorResponse.ts"

// The memory of requests in flight: bodies, whole replies, incomplete events, what is held of streams, and bytes that wait for slow readers.
// What does not fit is refused.

/** Largest number of bytes that a small request holds. */
const smallRequest = 256 * 1024

/**
 * One budget for all requests of a process, in bytes as they came. `most` is an eighth of the heap's limit, because a body exists as
 * bytes, as text, as a tree and as what is made of it. Both functions count the bytes, and answer whether they fit; the caller gives
 * them back also where they do not. `own`: all bytes of the request, with these.
 */
export const makeMemoryBudget = (most = getHeapStatistics().heap_size_limit / 8) => {
  let held = 0
  /** For a body. The only one fits, up to half of the heap. Small requests have a quarter more, so that large bodies that come slowly never keep them out. */
  const admit = (bytes: number, own: number): boolean => {
    held += bytes
    const isAlone = held <= own && own <= 4 * most
    return held <= most || isAlone || (own <= smallRequest && held <= 1.25 * most)
  }
  /**
   * For what a running request holds beside its body: half as much again, so that bodies leave some for replies, and always for a small
   * request. A negative number gives memory back.
   */
  const take = (bytes: number, own: number): boolean => admit(bytes, own) || held <= 1.5 * most || own <= smallRequest
  return { admit, take }
}
export type MemoryBudget = ReturnType<typeof makeMemoryBudget>

// The record.

/** Outcomes where the caller or the gateway gave a call up. */
const abandoned: ReadonlySet<Outcome> = new Set(["cancelled", "timeout", "idle", "drained", "revoked"])

export class RequestRecord extends RequestFacts {
  declare caller: CallerIdentity | undefined
  refusedId: string | undefined
  /** What is held of the key's quota. */
  reservation: Reservation | undefined
  /** Gives back the stream of the key's, where these are limited. */
  endStream: Effect.Effect<void> | undefined
  /** Headers that the reply gets whatever it becomes: rate limits, and those of an error. */
  replyHeaders: Readonly<Record<string, string>> = {}
  /** Headers that name what was changed of the request before it was sent (docs/api.md#adjusted-requests). */
  adjustedHeaders: Readonly<Record<string, string>> | undefined
  span: Tracer.AnySpan | undefined
  tokens: Tokens | undefined
  filtered = false
  /** About how many tokens the input is; undefined where nothing is charged. */
  inputEstimate: number | undefined
  readonly attempts: Array<Attempt> = []
  /** What guards did, each once. */
  guardActions: ReadonlyArray<GuardAction> = []
  events = 0
  /** Whether a stream came to the cloud's own end, with its counts. */
  counted = false
  /** Bytes of the cloud's output: of whole replies as they came, of a stream its text, thinking and arguments of calls. */
  received = 0
  private readonly begunAt = performance.now()
  private readonly memory: MemoryBudget | undefined
  private held = 0

  constructor(given: ConstructorParameters<typeof RequestFacts>[0], memory?: MemoryBudget) {
    super(given)
    this.memory = memory
  }

  /** Milliseconds since the epoch: the arrival, and what has passed since, also where the clock was set meanwhile. */
  now(): number {
    return this.startedAt + Math.round(performance.now() - this.begunAt)
  }

  /** Whether a cloud may have worked on the request. */
  get sent(): boolean {
    return this.attempts.some(({ sent }) => sent)
  }

  /** The attempt that the reply is of: the last that was sent, because one that could not be sent after it changes nothing. */
  private get answered(): Attempt | undefined {
    return this.attempts.findLast(({ sent }) => sent) ?? this.attempts.at(-1)
  }

  override get region(): string | undefined {
    return this.answered?.region
  }

  override get tried(): ReadonlyArray<string> {
    return [...new Set(this.attempts.map(({ region }) => region))]
  }

  override get upstreamRequestId(): string | undefined {
    return this.answered?.requestId
  }

  override get keyId(): string | undefined {
    return this.caller?.id ?? this.refusedId
  }

  override get cost(): number | undefined {
    const prices = this.route?.deployment.prices
    const { charged } = this
    return prices === undefined || charged === undefined ? undefined : costOf(prices, charged)
  }

  /**
   * Undefined where nothing was sent, where the cloud refused or failed before any output, and where the endpoint is free. Where the
   * cloud's count is missing, an estimate is charged: that which the caller got, where there was one.
   */
  override get charged(): Tokens | undefined {
    const { counted, events, inputEstimate, outcome, sent, status, stream, streamEnd, surface, tokens } = this
    if (inputEstimate === undefined || !sent) return tokens
    // A vector is no output.
    const isVector = surface !== undefined && surface !== "models" && surfaces[surface].output === "vector"
    const bytes = isVector ? 0 : this.received
    const ended = outcome === undefined && status > 0 && (streamEnd === undefined || streamEnd === "complete")
    const gaveUp = !ended && (streamEnd === "cancelled" || outcome === undefined || abandoned.has(outcome))
    const received = { bytes, events, inputEstimate, stream }
    if (tokens?.estimated === true) return tokens
    if (tokens !== undefined && (stream ? counted : !gaveUp) && isCount(tokens, received)) return tokens
    // A stream whose first event is a failure has no output either.
    if (!ended && !gaveUp && bytes === 0 && (events === 0 || status !== 200)) return tokens
    return estimateOf(tokens, received)
  }

  override get quota(): RequestFacts["quota"] {
    const { reservation } = this
    return reservation === undefined ? undefined : { reserved: reservation.reserved, charged: reservation.charged() }
  }

  /** Embeddings ask for several at a time: what calls have in common counts once. */
  override get overhead(): number | undefined {
    if (!this.sent) return undefined
    let upstream = 0n
    let until = 0n
    for (const { span } of this.attempts) {
      const [from, to] = span.period()
      const start = from > until ? from : until
      if (to <= start) continue
      upstream += to - start
      until = to
    }
    return Math.max(0, performance.now() - this.begunAt - Number(upstream) / 1e6)
  }

  /** Takes memory for so many bytes of the request's body, or of a document; false where there is none left. */
  admitBody(bytes: number): boolean {
    this.held += bytes
    return this.memory === undefined || this.memory.admit(bytes, this.held)
  }

  /** The same for what a running request holds beside its body; a negative number gives memory back. */
  takeMemory(bytes: number): boolean {
    this.held += bytes
    return this.memory === undefined || this.memory.take(bytes, this.held)
  }

  get memoryHeld(): number {
    return this.held
  }

  release(): void {
    this.takeMemory(-this.held)
  }

  /** The first failure counts. */
  fail(error: GatewayError): void {
    this.failure ??= error.code ?? error.reason
    this.outcome ??= outcomeOf(error)
  }

  /** How a request that is over ended. `left`: the caller left before the end. */
  finalOutcome(left: boolean): Outcome {
    return this.outcome ?? (left ? "cancelled" : this.filtered ? "filtered" : "ok")
  }

  /** Adds what a guard did with texts of the request or of the reply. */
  addGuardAction({ action, categories, guard }: GuardAction): void {
    const same = (other: GuardAction) => other.guard === guard && other.action === action
    const before = this.guardActions.find(same)
    const all = { guard, action, categories: [...new Set([...(before?.categories ?? []), ...categories])] }
    this.guardActions = [...this.guardActions.filter((other) => !same(other)), all]
    this.guardCounts = { ...this.guardCounts, [guard]: (this.guardCounts?.[guard] ?? 0) + 1 }
  }

  /**
   * Adds the headers that say which cloud, region and level the reply's text came from or went to
   * (docs/decisions.md#proof-of-the-boundary), where a cloud was asked, and what was changed of the request.
   */
  addServedHeaders(): void {
    const { cloud, region, route } = this
    const served = cloud !== undefined &&
      region !== undefined &&
      route !== undefined && {
        "x-gateway-served-model": route.model.id,
        "x-gateway-served-by": `${cloud}/${region}`,
        "x-gateway-served-level": route.level
      }
    this.replyHeaders = { ...this.replyHeaders, ...served, ...this.adjustedHeaders }
  }

  /** The request ends with this error, and with its headers. */
  refuse(error: GatewayError): void {
    this.fail(error)
    this.refusedId ??= error.refused?.id
    this.replyHeaders = { ...this.replyHeaders, ...errorHeaders(error) }
  }

  /** Adds the tokens of one reply to those of the replies before it. */
  addTokens(tokens: Tokens): void {
    const { tokens: before } = this
    this.tokens =
      before === undefined
        ? tokens
        : { ...tokens, input: before.input + tokens.input, output: before.output + tokens.output }
  }
}

/** The record of the request that the fiber serves; set by the request middleware. */
export const CurrentRecord = Context.Reference<RequestRecord>("gateway/http/CurrentRecord", {
  defaultValue: () =>
    new RequestRecord({ id: "", startedAt: 0, method: "", path: "", source: undefined, surface: undefined })
})

/** Ends a request with an error; `errorResponse` makes the endpoint's. */
export const failWith = <E>(record: RequestRecord, error: GatewayError, errorResponse: (error: GatewayError) => E) => {
  record.refuse(error)
  const refused = Effect.fail(errorResponse(error))
  return error.detail === undefined ? refused : Effect.andThen(Effect.logError(error.detail), refused)
}
