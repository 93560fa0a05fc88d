/**
 * Records as events of the Open Cybersecurity Schema Framework, version 1.9 (docs/records.md#ocsf). A request is API Activity
 * with the profile `ai_operation`; what is done with the gateway is Authentication, Account Change, Group Management, Entity
 * Management or Application Lifecycle; the place in the chain is the profile `record_integrity`. `unmapped` has the record in
 * the gateway's own fields, which loses nothing.
 */
import { hash } from "node:crypto"
import type { AuditEvent, AuditName } from "../audit/Audit.ts"
import { service, version } from "../contract/version.ts"
import { arrayOf, isObject, type Json, type JsonObject, numberOf, objectOf, textOf } from "../wire/json.ts"
import { isShallow } from "../wire/parse.ts"
import type { UsageRecord } from "./UsageRecord.ts"

/** By their numbers in the schema; the thousands are the category. */
const classes = {
  3001: "Account Change",
  3002: "Authentication",
  3004: "Entity Management",
  3006: "Group Management",
  6002: "Application Lifecycle",
  6003: "API Activity"
} as const

const product = { name: "Government Model Gateway", uid: service, version }

/** Numbers are those of the class; 99 is an activity that it does not name. */
interface Described {
  readonly class: keyof typeof classes
  readonly activity: readonly [id: number, name: string]
  readonly ok: boolean
  readonly message: string
  readonly fields: object
  readonly correlation: string | undefined
}

const endpoint = (ip: string | null | undefined) => (ip === null || ip === undefined ? { name: "unknown" } : { ip })
/** Type 1 is a person, 4 a service; what uses a key may be either. */
const caller = (uid: string | null | undefined, name: string | undefined, team?: string) =>
  uid === null || uid === undefined
    ? { name: "unknown", type_id: 0 }
    : { uid, name, type_id: 0, groups: team === undefined ? undefined : [{ name: team }] }

const reads: ReadonlySet<string> = new Set<UsageRecord["surface"]>(["models", "count_tokens"])

const describeRequest = (record: UsageRecord): Described => {
  const { deployment, key_id, key_name, model, outcome, request_id, source, status, surface, team, tokens } = record
  const response = status === null ? undefined : { code: status }
  return {
    class: 6003,
    activity: reads.has(surface) ? [2, "Read"] : [1, "Create"],
    ok: outcome === "ok",
    message: [surface, model, outcome].filter((word) => word !== null).join(" "),
    correlation: request_id,
    fields: {
      status_code: status === null ? undefined : String(status),
      status_detail: outcome,
      actor: { user: caller(key_id, key_name, team) },
      api: { operation: surface, service: product, request: { uid: request_id }, response },
      src_endpoint: endpoint(source),
      dst_endpoint: deployment === null ? undefined : { svc_name: `${deployment.cloud}/${deployment.region}` },
      http_response: response,
      ai_model:
        deployment === null
          ? undefined
          : { ai_provider: deployment.cloud, name: deployment.model, uid: model ?? deployment.model },
      // Role 2 is the assistant that answers.
      message_context:
        tokens === null
          ? undefined
          : {
              ai_role_id: 2,
              service: { name: deployment?.cloud ?? product.name },
              prompt_tokens: tokens.input,
              completion_tokens: tokens.output,
              total_tokens: tokens.input + tokens.output
            }
    }
  }
}

const activities: Readonly<Record<AuditName, readonly [Described["class"], id: number, name: string]>> = {
  "gateway.started": [6002, 3, "Start"],
  "gateway.draining": [6002, 99, "Drain"],
  "gateway.stopped": [6002, 4, "Stop"],
  "chain.signed": [6002, 99, "Sign"],
  "file.read": [3004, 2, "Read"],
  "file.refused": [3004, 2, "Read"],
  "caller.refused": [3002, 1, "Logon"],
  "tls.refused": [3002, 1, "Logon"],
  "key.created": [3001, 1, "Create"],
  "key.changed": [3001, 99, "Update"],
  "key.rotated": [3001, 3, "Password Change"],
  "key.revoked": [3001, 6, "Delete"],
  "team.created": [3006, 6, "Create"],
  "team.changed": [3006, 9, "Update"],
  "team.removed": [3006, 5, "Delete"]
}
const switches: Readonly<Record<string, readonly [id: number, name: string]>> = {
  "enabled -> disabled": [5, "Disable"],
  "disabled -> enabled": [2, "Enable"]
}

/** The fields that each class needs, of the event's actor and detail. */
const fieldsOf = (kind: Described["class"], { actor, audit, detail = {}, reason }: AuditEvent): object => {
  const { key_id, kind: file, name, path, sha256, team } = detail
  const by =
    actor.kind === "operator"
      ? { actor: { user: { name: actor.user, type_id: 2 } }, src_endpoint: { hostname: actor.host } }
      : {}
  switch (kind) {
    case 3001:
      return { ...by, user: { uid: key_id, name } }
    case 3002: {
      const tls = audit === "tls.refused" ? { auth_protocol_id: 99, auth_protocol: "TLS" } : {}
      const from = { user: caller(actor.key_id, undefined), src_endpoint: endpoint(actor.source) }
      return { ...tls, ...from, service: product, is_remote: true, status_code: reason }
    }
    case 3004:
      return { ...by, entity: { name: path, type: file, type_id: 99, version: sha256 } }
    case 3006:
      return { ...by, group: { name: team } }
    default:
      return { app: product }
  }
}

const describeEvent = (event: AuditEvent): Described => {
  const { audit, detail, outcome, reason } = event
  const [kind, ...usual] = activities[audit]
  return {
    class: kind,
    activity: switches[String(detail?.changes)] ?? usual,
    ok: outcome === "success",
    message: reason === undefined ? audit : `${audit}: ${reason}`,
    correlation: textOf(detail?.request_id),
    fields: { status_detail: reason, ...fieldsOf(kind, event) }
  }
}

/** JSON in the one form of RFC 8785 (JCS), for values that JSON has. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  // A number beyond the range is no other value.
  if (typeof value === "number") return String(value)
  if (!isObject(value)) return JSON.stringify(value)
  const names = Object.keys(value).filter((name) => value[name] !== undefined)
  const fields = names.sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
  return `{${fields.join(",")}}`
}

/** Algorithm 3 is SHA-256, encoding 1 hexadecimal, serialization 2 JCS. */
const fingerprint = (value: string) => ({ algorithm_id: 3, encoding_id: 1, serialization_id: 2, value })

/** A record's place in its chain (usageChain); `prev` is undefined where nothing stood before. */
interface Place {
  readonly instance: string
  readonly seq: number
  readonly prev: string | undefined
  readonly after: string | undefined
}

/** The event of a record, and its digest, by which the next one is linked to it. */
export const ocsfEvent = (record: UsageRecord | AuditEvent, { after, instance, prev, seq }: Place) => {
  const isEvent = "audit" in record
  const described = isEvent ? describeEvent(record) : describeRequest(record)
  const { activity, class: kind, correlation, fields, message, ok } = described
  const { time, ...unmapped } = record
  const uid = `${instance}:${seq}`
  const attestation = {
    uid,
    authority_uid: service,
    chain_uid: instance,
    prev_event:
      prev === undefined ? undefined : { uid: after ?? `${instance}:${seq - 1}`, fingerprint: fingerprint(prev) }
  }
  const event = {
    time: Date.parse(time),
    category_uid: Math.floor(kind / 1000),
    class_uid: kind,
    class_name: classes[kind],
    activity_id: activity[0],
    activity_name: activity[1],
    type_uid: kind * 100 + activity[0],
    ...(ok ? { severity_id: 1, status_id: 1, status: "Success" } : { severity_id: 2, status_id: 2, status: "Failure" }),
    message,
    ...fields,
    metadata: {
      version: "1.9.0",
      product,
      uid,
      sequence: seq,
      correlation_uid: correlation,
      profiles: [...(isEvent ? [] : ["ai_operation"]), "record_integrity"]
    },
    unmapped
  }
  const digest = hash("sha256", canonical({ ...event, attestation_list: [attestation] }), "hex")
  return { digest, event: { ...event, attestation_list: [{ ...attestation, fingerprint: fingerprint(digest) }] } }
}

/** What an event says of its place, its digest, and whether it names that one; undefined for anything else. */
export const ocsfPlace = (event: JsonObject) => {
  const { attestation_list, metadata } = event
  const [attestation, ...others] = arrayOf(attestation_list)
  if (!isObject(attestation) || !isObject(metadata) || !isShallow(event)) return undefined
  const { fingerprint: named, signatures, ...rest } = attestation
  const before = objectOf(rest.prev_event)
  const digest = hash("sha256", canonical({ ...event, attestation_list: [rest, ...others] }), "hex")
  return {
    place: {
      instance: rest.chain_uid,
      seq: metadata.sequence,
      prev: objectOf(before.fingerprint).value,
      after: metadata.sequence === 1 ? before.uid : undefined
    },
    digest,
    isNamed: canonical(objectOf(named)) === canonical(fingerprint(digest))
  }
}

/** The gateway's own record in an event; anything else as it is. */
export const recordIn = (value: unknown): unknown => {
  if (!isObject<Json>(value) || typeof value.class_uid !== "number" || !isObject(value.unmapped)) return value
  const { instance, seq } = ocsfPlace(value)?.place ?? {}
  const time = new Date(numberOf(value.time) ?? Number.NaN)
  return { ...value.unmapped, time: Number.isNaN(time.getTime()) ? "" : time.toISOString(), instance, seq }
}
