/**
 * What is done with the gateway, beside the requests that usage records are of: starts, changes of its files and keys, callers and
 * connections that are refused (docs/operation.md#audit-events). Never a secret, never a payload.
 */
import { Context, Effect, Schema } from "effect"

export const AuditName = Schema.Literals([
  "gateway.started",
  "gateway.draining",
  "gateway.stopped",
  /** The head of a chain of records is signed (docs/records.md#signed-records). */
  "chain.signed",
  /** A file of the operator's is in force: at the start, and when it was read again. */
  "file.read",
  /** It has changed and cannot be used, or is gone; what was read before stays in force. */
  "file.refused",
  "caller.refused",
  "tls.refused",
  "key.created",
  "key.changed",
  "key.rotated",
  "key.revoked",
  "team.created",
  "team.changed",
  "team.removed"
])
export type AuditName = typeof AuditName.Type

const Detail = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Number]))

export const AuditEvent = Schema.Struct({
  /** ISO 8601 in UTC. */
  time: Schema.String,
  audit: AuditName,
  outcome: Schema.Literals(["success", "failure"]),
  /** Who did it: the gateway itself, an operator by a command, or a caller. */
  actor: Schema.Struct({
    kind: Schema.Literals(["gateway", "operator", "caller"]),
    /** Of an operator: the operating system's user and the machine. */
    user: Schema.optional(Schema.String),
    host: Schema.optional(Schema.String),
    /** Of a caller: the ID of the key, where it is known, and the address. */
    key_id: Schema.optional(Schema.String),
    source: Schema.optional(Schema.String)
  }),
  /** Why it failed, by a word of a closed set or the gateway's own sentence. */
  reason: Schema.optional(Schema.String),
  /** What it was about: a file, a digest, a key, a version. */
  detail: Schema.optional(Detail)
})
export type AuditEvent = typeof AuditEvent.Type

/** An event before it has its time; without an actor it is the gateway's own. */
export interface Act extends Pick<AuditEvent, "audit" | "detail" | "outcome" | "reason"> {
  readonly actor?: AuditEvent["actor"] | undefined
}

export const eventOf = ({ actor = { kind: "gateway" }, audit, detail, outcome, reason }: Act): AuditEvent => {
  const time = new Date().toISOString()
  return { time, audit, outcome, actor, reason, detail }
}

/** Takes an event without waiting; never fails. Where nothing keeps them, they are dropped. */
export const Audit = Context.Reference<(act: Act) => void>("gateway/audit/Audit", { defaultValue: () => () => {} })

/** Gives it what was done. */
export const auditDone = (audit: AuditName, detail: Act["detail"]) =>
  Effect.map(Audit, (take) => take({ audit, outcome: "success", detail }))
