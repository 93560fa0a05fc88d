/** What Prometheus reads, and which alert it then gives. */
export interface Scenario {
  /** The one alert that fires at the end, or none. */
  readonly fires?: string
  readonly because: string
  /** What is read in each step, by series; `_` is nothing: https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/ */
  readonly series: Readonly<Record<string, string>>
  /** The step after which the alerts are looked at. */
  readonly end: number
  /** Steps of four minutes rather than of one. */
  readonly daily?: boolean
}

const fires = (alert: string, because: string, series: Scenario["series"], end = 45, daily = false): Scenario => ({
  fires: alert,
  because,
  series,
  end,
  daily
})
const silent = (because: string, series: Scenario["series"], end = 45, daily = false): Scenario => ({
  because,
  series,
  end,
  daily
})

const sent = (outcome: string, status: number) =>
  `gateway_requests_total{surface="chat",status="${status}",outcome="${outcome}"}`
const served = { [sent("ok", 200)]: "0+100x50" }
const of = (outcome: string, status: number, values: string) => ({ ...served, [sent(outcome, status)]: values })
const called = (error = "") =>
  `gen_ai_client_inference_duration_seconds_count{gen_ai_provider_name="aws.bedrock",gen_ai_request_model="m"${error}}`
const calls = (fine: number, error: string, values: string) => ({
  [called()]: `0+${fine}x50`,
  [called(`,error_type="${error}"`)]: values
})
const events = (slow: number) => {
  const bucket = (le: string, each: number) => ({
    [`gateway_time_to_first_event_seconds_bucket{surface="chat",le="${le}"}`]: `0+${each}x50`
  })
  return { ...bucket("20.48", 50 - slow), ...bucket("40.96", 50), ...bucket("+Inf", 50) }
}
const breaker = (values: string) => ({ 'gateway_breaker_open{circuit="bedrock/us-gov-west-1"}': values })
const store = (values: string) => ({
  'gateway_access_store_up{use="quota"}': values,
  'gateway_access_store_up{use="streams"}': "1x50"
})
const emptied = (values: string) => ({
  'gateway_access_store_resets_total{instance="a"}': values,
  'gateway_access_store_resets_total{instance="b"}': "0x100"
})
const used = (values: string) => ({
  'gateway_limit_used_ratio{limit="monthly-tokens",holder="key",team="blue"}': values,
  'gateway_limit_used_ratio{limit="daily-cost",holder="team",team="red"}': "0x50"
})
const expires = (values: string) => ({
  'gateway_keys_expire_days{team="blue"}': values,
  gateway_keys_expire_days: "100x50"
})
const keyFile = (values: string) => ({
  'gateway_keys_file_up{instance="a"}': values,
  'gateway_keys_file_up{instance="b"}': "1x50"
})
/** In seconds since 1970, which is when the tests of rules begin. */
const readAt = (values: string) => ({ 'gateway_file_read_timestamp_seconds{kind="keys"}': values })
const certificate = (values: string) => ({ 'gateway_certificate_expiry_days{kind="certificate"}': values })
const list = (values: string) => ({ gateway_revocation_list_expiry_days: values })
const spilled = (values: string) => ({
  'gateway_usage_records_total{to="log"}': "0+9x50",
  'gateway_usage_records_total{to="stderr"}': values
})
const disk = (values: string) => ({ 'gateway_disk_failures_total{use="usage-log",reason="full"}': values })
const flags = (values: string) => ({ 'gateway_governance_flags_total{surface="chat"}': values })

/** A series that begins in step 20 with so many events. */
const born = (count: number) => `_x20 ${count}x30`
/** One that has counted so many when it is first read, and no more. */
const long = (count: number) => `${count}x50`
const soon = 25

export const alertScenarios: ReadonlyArray<Scenario> = [
  fires("GatewayDown", "the only one is gone", { gateway_requests_in_flight: "0x20 _x30" }),
  silent("one of two is gone", {
    'gateway_requests_in_flight{instance="a"}': "0x20 _x30",
    'gateway_requests_in_flight{instance="b"}': "0x50"
  }),

  fires("GatewayFailing", "a cloud fails", of("upstream_error", 502, "0x20 10+10x30")),
  fires("GatewayFailing", "streams break off", of("cut", 200, "0x20 10+10x30")),
  silent("a cloud limits requests", of("upstream_error", 429, "0x20 10+10x30")),
  silent("a caller sends what a cloud refuses", of("upstream_error", 400, "0x20 10+10x30")),
  silent("one request in a hundred fails", of("upstream_error", 502, "0+1x50")),

  fires("GatewayInternalErrors", "the first", of("internal", 500, born(1)), soon),
  fires("GatewayInternalErrors", "one more", of("internal", 500, "3x20 4x30"), soon),
  silent("internal errors of long ago", of("internal", 500, long(3))),

  fires("GatewayShedding", "the first", of("shed", 503, born(3)), soon - 1),
  silent("503 of long ago", of("shed", 503, long(3))),

  fires("GatewayCallersRefused", "the first six", of("unauthenticated", 401, born(6)), soon),
  fires("GatewayCallersRefused", "more than before", of("unauthenticated", 401, "0+4x370 1500+20x30"), 398, true),
  silent("a few refused callers", of("unauthenticated", 401, born(5)), soon),
  silent("as many refused callers as the day before", of("unauthenticated", 401, "0+4x400"), 398, true),

  fires("GatewayCloudDown", "it stays open", breaker("0x20 1x30")),
  fires("GatewayCloudDown", "it is tried now and then", breaker("0x20 1 0 0 1 0 0 1 0 0 1"), 30),
  silent("nobody asks any more", breaker("1x20 0x30")),

  fires("GatewayCloudRefusesCredentials", "the first", calls(9, "403", born(1)), soon),
  silent("credentials that were refused long ago", calls(9, "403", long(7))),

  fires("GatewayCloudRateLimit", "a fifth of the calls", calls(8, "429", "0+2x50")),
  silent("a twentieth of the calls is limited", calls(19, "429", "0+1x50")),

  fires("GatewaySlowFirstToken", "one in ten", events(5)),
  silent("one in fifty is slow", events(1)),

  fires("GatewayLimitStoreLost", "for one use", store("1x20 0x30")),
  silent("the store is back", store("0x20 1x30")),

  fires("GatewayLimitStoreEmpty", "once, of one process", emptied("0x30 1x20")),
  fires("GatewayLimitStoreEmpty", "when it starts", emptied(born(1))),
  silent("Redis was empty long ago", emptied("1x100"), 90),

  fires("GatewayLimitNear", "of a key of a team", used("0.7x20 0.81x30")),
  silent("two thirds are used", used("0.66x50")),
  fires("GatewayKeyExpires", "in two weeks", expires("14.1x20 13.9x30")),
  silent("a key expires in a month", expires("30x50")),

  fires("GatewayKeyFileLost", "of one process", keyFile("1x20 0x30")),
  silent("the key file is back", keyFile("0x20 1x30")),

  fires("GatewayReloadRefused", "for five minutes", readAt("0+60x30 1800x20"), 40),
  silent("files are read every minute", readAt("0+60x50")),

  fires("GatewayCertificateExpires", "in less than two weeks", certificate("13.9x50")),
  silent("a certificate of a month", certificate("30x50")),

  fires("GatewayRevocationListEnds", "in less than six hours", list("0.24x50")),
  silent("a list of a day", list("1x50")),

  fires("GatewayRecordsWaiting", "for a slow disk", { 'gateway_records_waiting{log="usage"}': "0x20 5000x30" }),
  silent("a burst of records", { 'gateway_records_waiting{log="usage"}': "0x44 5000 0" }),

  fires("GatewayUsageRecordsSpilled", "the first", spilled(born(1)), soon),
  fires("GatewayUsageRecordsSpilled", "lost ones", { 'gateway_usage_records_total{to="lost"}': "0+9x50" }, soon),
  silent("records spilled long ago", spilled(long(5))),

  fires("GatewayDiskFailing", "the first time", disk(born(1)), soon),
  silent("a disk that failed long ago", disk(long(1))),

  fires("GatewayFlagsRising", "the first ever", flags(born(21)), soon),
  fires("GatewayFlagsRising", "more than yesterday", flags("0+1x370 380+8x30"), 398, true),
  silent("as many flags as yesterday", flags("0+4x400"), 398, true)
]
