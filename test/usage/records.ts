/** Usage records for tests of what reads them. */
import { recordLine, type UsageRecord } from "../../src/limits/UsageRecord.ts"
import { type Head, makeChain } from "../../src/limits/usageChain.ts"

export const record = (n: number, fields: Partial<UsageRecord> = {}): UsageRecord => ({
  time: new Date(Date.UTC(2026, 10, 21) + n).toISOString(),
  request_id: `request-${n}`,
  key_id: "key_1",
  source: "127.0.0.1",
  surface: "chat",
  model: "gpt-5.1:il5",
  deployment: { cloud: "azure", region: "usgov", model: "gpt-5.1" },
  level: "il5",
  upstream_request_id: null,
  status: 200,
  outcome: "ok",
  stream: false,
  stream_end: null,
  tokens: { input: 10, output: 20 },
  bytes: { in: 100, out: 200 },
  counts: { tools: 0, images: 0, files: 0, flags: 0 },
  duration_ms: 12.5,
  first_event_ms: null,
  quota: null,
  ...fields
})

/** A record's line, without its line feed. */
export const line = (n: number, fields: Partial<UsageRecord> = {}): string => recordLine(record(n, fields))

/** That many lines of one chain, without their line feeds. */
export const chained = (count: number, chain = makeChain()): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, n) => chain.link(record(n)).slice(0, -1))

/** The log line that the gateway writes of a chain's head. */
export const anchorLine = ({ digest, instance, seq }: Head): string =>
  JSON.stringify({ level: "info", message: "x", usage_instance: instance, usage_seq: seq, usage_digest: digest })
