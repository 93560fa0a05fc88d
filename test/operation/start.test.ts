import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { explainSetting } from "../../src/operators/cli/run.ts"
import { load } from "../../src/Settings.ts"
import { serve, start, until } from "./child.ts"
import { sharedCommands } from "./commands.ts"

const server = createServer()
const directory = mkdtempSync(join(tmpdir(), "gateway-start-"))
const broken = join(directory, "broken.json")
let taken = ""

beforeAll(async () => {
  writeFileSync(broken, '{"version":1,"keys":[{"id":"k"}]}')
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  taken = String(typeof address === "object" && address !== null ? address.port : 0)
})
afterAll(() => {
  server.close()
  rmSync(directory, { recursive: true, force: true })
})

const cloud = { VERTEX_PROJECT: "p", VERTEX_ACCESS_TOKEN: "t" }

interface Case {
  readonly what: string
  readonly environment: () => Readonly<Record<string, string>>
  readonly says: () => ReadonlyArray<string>
}

const cases: ReadonlyArray<Case> = [
  {
    what: "the port is taken",
    environment: () => ({ GATEWAY_PORT: taken }),
    says: () => [`127.0.0.1:${taken}`, "taken", "GATEWAY_PORT"]
  },
  {
    what: "the port is taken, with workers",
    environment: () => ({ GATEWAY_PORT: taken, GATEWAY_WORKERS: "2" }),
    says: () => [`127.0.0.1:${taken}`, "taken", "GATEWAY_PORT"]
  },
  {
    what: "the metrics port is taken",
    environment: () => ({ GATEWAY_METRICS_PORT: taken }),
    says: () => [`cannot listen on 127.0.0.1:${taken}: the port is taken`, "set GATEWAY_METRICS_PORT to another port"]
  },
  {
    what: "workers have no metrics ports",
    environment: () => ({ GATEWAY_METRICS_PORT: "65535", GATEWAY_WORKERS: "2" }),
    says: () => ["GATEWAY_METRICS_PORT must be at most 65534", "each of 2 workers takes the next port"]
  },
  {
    what: "a worker's metrics port is the gateway's",
    environment: () => ({ GATEWAY_PORT: "9465", GATEWAY_METRICS_PORT: "9464", GATEWAY_WORKERS: "2" }),
    says: () => ["127.0.0.1:9465 for metrics is GATEWAY_PORT, too"]
  },
  {
    what: "there is no cloud and no sandbox",
    environment: () => ({ GATEWAY_SANDBOX: "off" }),
    says: () => ["VERTEX_PROJECT", "BEDROCK_REGION", "AZURE_OPENAI_ENDPOINT", "GATEWAY_SANDBOX"]
  },
  {
    what: "the keys file is broken",
    environment: () => ({ ...cloud, GATEWAY_KEYS_FILE: broken }),
    says: () => [broken, "not a key file", "GATEWAY_KEYS_FILE"]
  },
  ...["GATEWAY_KEYS_FILE", "GATEWAY_GUARDS_FILE", "GATEWAY_IDENTITY_FILE"].map(
    (name): Case => ({
      what: `${name} is a folder`,
      environment: () => ({ [name]: directory }),
      says: () => [`${name}: cannot read ${directory}: it is no regular file`]
    })
  ),
  {
    what: "the state directory cannot be made",
    environment: () => ({ ...cloud, GATEWAY_STATE_DIR: join(broken, "state") }),
    says: () => [broken, "GATEWAY_STATE_DIR", "GATEWAY_REDIS_URL"]
  },
  ...["GATEWAY_USAGE_LOG", "GATEWAY_AUDIT_LOG"].flatMap(
    (name): ReadonlyArray<Case> => [
      {
        what: `the folder of ${name} is missing`,
        environment: () => ({ ...cloud, [name]: join(directory, "none/log.jsonl") }),
        says: () => [`${name}: cannot write ${directory}/none/log.jsonl: the folder ${directory}/none does not exist`]
      },
      {
        what: `${name} is a folder`,
        environment: () => ({ ...cloud, [name]: directory }),
        says: () => [`${name}: cannot write ${directory}: EISDIR`]
      }
    ]
  ),
  {
    what: "there is no cloud and the address is not loopback",
    environment: () => ({ GATEWAY_HOST: "0.0.0.0", VERTEX_PROJET: "p" }),
    says: () => ["0.0.0.0 is not a loopback address", "GATEWAY_SANDBOX=on", "VERTEX_PROJET", "is VERTEX_PROJECT meant?"]
  },
  ...["0.0.0.0", "::", "192.0.2.1"].map(
    (host): Case => ({
      what: `it is plain HTTP on ${host}`,
      environment: () => ({ ...cloud, GATEWAY_HOST: host }),
      says: () => [`plain HTTP on ${host}`, "GATEWAY_TLS_CERT", "GATEWAY_PLAIN_HTTP=true"]
    })
  ),
  {
    what: "a region leads to another host",
    environment: () => ({ BEDROCK_REGION: "x@127.0.0.1:18192/?" }),
    says: () => ["BEDROCK_REGION must be a region such as us-gov-west-1"]
  },
  {
    what: "a setting is wrong",
    environment: () => ({ GATEWAY_SANDBOX: "maybe" }),
    says: () => ["GATEWAY_SANDBOX must be one of auto, on, off"]
  }
]

describe("serve refuses to start in one line that says what to do, and exits with 1, when", () => {
  const command = sharedCommands()
  for (const { what, environment, says } of cases) {
    it(what, async () => {
      // The first of several processes does not take the port itself.
      const ended = what.endsWith("with workers")
        ? start(["serve"], environment()).ended
        : command(["serve"], environment())
      const { code, stderr, stdout } = await ended
      assert.strictEqual(code, 1)
      assert.strictEqual(stdout, "")
      const lines = stderr.trimEnd().split("\n")
      assert.lengthOf(lines, 1, stderr)
      assert.match(stderr, /^gateway: /)
      for (const words of says()) assert.include(stderr, words)
    }, 60_000)
  }

  it.concurrent("but not where a log is a pipe that has no reader yet", async () => {
    const pipe = join(directory, "pipe")
    execFileSync("mkfifo", [pipe])
    const gateway = await serve({ GATEWAY_USAGE_LOG: pipe })
    await fetch(`${gateway.url}/v1/models`)
    // It tries again: to wait in the system for a reader would keep the process beyond its end.
    await until(() => gateway.stderr().includes("cannot be written (nothing reads it"), "an error line")
    const reader = createReadStream(pipe, { encoding: "utf8" })
    const [line] = await once(reader, "data")
    assert.include(line, '"outcome":"unauthenticated"')
    await gateway.stop()
  })

  it("a collector does not answer, as soon as it is known", async () => {
    const gateway = start(["serve"], { GATEWAY_PORT: taken, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${taken}` })
    await until(() => gateway.stderr().includes("GATEWAY_PORT"), "the line")
    // Telemetry is given five seconds more.
    await sleep(300)
    gateway.kill("SIGKILL")
    const { signal, stderr } = await gateway.ended
    assert.strictEqual(signal, "SIGKILL")
    assert.lengthOf(stderr.trimEnd().split("\n"), 1, stderr)
  })

  it.each(["GATEWAY_CATALOG_FILE", "GATEWAY_CATALOG_OVERLAY"])("%s does not exist", async (name) => {
    const { stderr } = await command(["serve"], { ...cloud, [name]: "none.json" })
    assert.match(
      stderr,
      new RegExp(`^gateway: ${name}: none\\.json .*\\n.*no such file\\. Name another, or unset it\\n$`)
    )
  })

  it("the catalog is broken: a line for each problem", async () => {
    const { code, stderr, stdout } = await command(["serve"], { GATEWAY_CATALOG_FILE: broken })
    assert.strictEqual(code, 1)
    assert.strictEqual(stdout, "")
    assert.match(stderr, /^gateway: GATEWAY_CATALOG_FILE: .*broken\.json is not a usable catalog:\n( {2}.*\n)+$/)
  })
})

describe("a setting that is wrong", () => {
  const wrong: ReadonlyArray<readonly [environment: Readonly<Record<string, string>>, says: string]> = [
    [{ GATEWAY_SANDBOX: "maybe" }, "GATEWAY_SANDBOX must be one of auto, on, off"],
    [{ GATEWAY_LOG_LEVEL: "loud" }, "GATEWAY_LOG_LEVEL must be one of trace, debug, info, warn, error, none"],
    [
      { GATEWAY_DRAIN_DELAY: "soon" },
      'GATEWAY_DRAIN_DELAY must be a time such as "500 millis", "30 seconds" or "5 minutes"'
    ],
    [
      { GATEWAY_TRUSTED_PROXIES: "10.0.0.0/40" },
      "GATEWAY_TRUSTED_PROXIES must be a comma-separated list of networks such as 10.0.0.0/8,fd00::/8"
    ],
    ...["redis://redis:6379", "redis://:p@10.0.0.4"].map(
      (url) =>
        [
          { GATEWAY_REDIS_URL: url },
          "GATEWAY_REDIS_URL must be rediss://, with TLS, for a Redis that is not on this machine; on a network of its own GATEWAY_REDIS_INSECURE=true allows redis://"
        ] as const
    ),
    [
      { GATEWAY_HTTPS_PROXY: "proxy.example:3128" },
      "GATEWAY_HTTPS_PROXY must be a URL such as http://proxy.example:3128, with a name and a password where it wants them"
    ],
    [
      { NODE_USE_ENV_PROXY: "1" },
      "NODE_USE_ENV_PROXY must not be 1, which sends what it likes by a proxy: set GATEWAY_HTTPS_PROXY instead"
    ],
    [
      { NODE_OPTIONS: "--force-fips --use-env-proxy" },
      "NODE_OPTIONS must not have --use-env-proxy: set GATEWAY_HTTPS_PROXY instead"
    ],
    [{ GATEWAY_PORT: "http" }, "GATEWAY_PORT must be a whole number"],
    [{ GATEWAY_PORT: "70000" }, "GATEWAY_PORT must be between 0 and 65535"],
    [{ GATEWAY_MAX_IN_FLIGHT: "0" }, "GATEWAY_MAX_IN_FLIGHT must be greater than 0"],
    [{ GATEWAY_WORKERS: "0" }, "GATEWAY_WORKERS must be auto (one a core), or a whole number from 1 to 999"],
    [{ GATEWAY_WORKERS: "all" }, "GATEWAY_WORKERS must be auto (one a core), or a whole number from 1 to 999"],
    [
      { GATEWAY_SCREEN_SURFACES: "all" },
      "GATEWAY_SCREEN_SURFACES must be a comma-separated list of chat, responses and messages, with at least one of them"
    ],
    [
      { VERTEX_PROJECT: "p", VERTEX_LOCATION: "global" },
      "VERTEX_LOCATION must be a location inside the boundary, never global"
    ],
    [
      { GATEWAY_REDIS_URL: "redis.example:6379" },
      "GATEWAY_REDIS_URL must be a URL such as redis://host:6379, or rediss://:PASSWORD@host:6379 with TLS"
    ],
    ...[
      "x@127.0.0.1:18192/?",
      "us-gov-west-1.evil.example",
      "us-gov-west",
      "US-GOV-WEST-1",
      "../x",
      "us-gov-west-1 "
    ].map((region) => [{ BEDROCK_REGION: region }, "BEDROCK_REGION must be a region such as us-gov-west-1"] as const),
    ...["..", "a/b", "a b", "a?b", "a@b", "%2e%2e", "a#"].map(
      (project) =>
        [{ VERTEX_PROJECT: project }, "VERTEX_PROJECT must be a project's ID or number such as my-project"] as const
    ),
    ...["europe-west4", "eu", "us-west2", "us-east5.evil.example/", "US"].flatMap((location) => {
      const says =
        "must be a location that may be used: one of us-central1, us-east1, us-east4, us-east5, us-south1, us-west1, us-west4, us"
      return [
        [{ VERTEX_PROJECT: "p", VERTEX_LOCATION: location }, `VERTEX_LOCATION ${says}`],
        [{ VERTEX_PROJECT: "p", VERTEX_COUNT_LOCATION: location }, `VERTEX_COUNT_LOCATION ${says}`]
      ] as const
    }),
    [
      { BEDROCK_REGION: "us-gov-west-1", BEDROCK_BASE_URL: "https://proxy.example" },
      "BEDROCK_BASE_URL_BOUNDARY is not set: BEDROCK_BASE_URL is not a loopback address, so it must say what may be served there, such as fedramp-high,il5,itar: the top of each ladder, and ITAR"
    ],
    [
      { BEDROCK_REGION: "us-gov-west-1", BEDROCK_BASE_URL: "https://proxy.example", BEDROCK_BASE_URL_BOUNDARY: "il6" },
      "BEDROCK_BASE_URL_BOUNDARY must name what may be served there, such as fedramp-high,il5,itar: the top of each ladder, and ITAR"
    ],
    ...[
      "https://ai.agency.example",
      "https://x.openai.azure.us.evil.example",
      "https://x.cognitiveservices.azure.us"
    ].map(
      (endpoint) =>
        [
          { AZURE_OPENAI_ENDPOINT: endpoint },
          "AZURE_OPENAI_ENDPOINT_BOUNDARY is not set: AZURE_OPENAI_ENDPOINT is not Azure's own (https://<name>.openai.azure.us), so it must say what may be served there, such as fedramp-high,il5,itar: the top of each ladder, and ITAR"
        ] as const
    ),
    [
      { AZURE_OPENAI_ENDPOINT: "https://x.openai.azure.us", AZURE_OPENAI_REGION: "usgov" },
      "AZURE_OPENAI_REGION must not be set: the endpoint of AZURE_OPENAI_ENDPOINT is Azure's own and says its region"
    ],
    [
      { AZURE_OPENAI_ENDPOINT: "http://127.0.0.1:1", AZURE_OPENAI_REGION: "us gov\r\nx: y" },
      "AZURE_OPENAI_REGION must be a name of lowercase letters, digits and '-' such as usgov"
    ],
    ...[
      "https://x.openai.azure.us/openai/v1/",
      "https://x.openai.azure.us/openai",
      "https://proxy.example/a/openai/v1"
    ].map(
      (endpoint) =>
        [
          { AZURE_OPENAI_ENDPOINT: endpoint },
          "AZURE_OPENAI_ENDPOINT must end before /openai, such as https://<name>.openai.azure.us"
        ] as const
    ),
    [
      { VERTEX_PROJECT: "p", VERTEX_BASE_URL: "http://127.0.0.1:1/a/../b" },
      "VERTEX_BASE_URL must be scheme, host and plain path such as https://host.example/path"
    ],
    [
      { VERTEX_PROJECT: "p", VERTEX_BASE_URL: "https://good.example\\@evil.example" },
      "VERTEX_BASE_URL must be scheme, host and plain path such as https://host.example/path"
    ],
    [
      { VERTEX_PROJECT: "p", VERTEX_BASE_URL: "https://user@evil.example" },
      "VERTEX_BASE_URL must have no credentials, query or fragment"
    ],
    [
      { NODE_TLS_REJECT_UNAUTHORIZED: "0" },
      "NODE_TLS_REJECT_UNAUTHORIZED must not be 0, which accepts any certificate: unset it, and name a private CA in NODE_EXTRA_CA_CERTS"
    ],
    [{ BEDROCK_REGION: "us-gov-west-1", BEDROCK_FIPS: "perhaps" }, "BEDROCK_FIPS must be true or false"],
    [
      { AZURE_OPENAI_ENDPOINT: "https://x.openai.azure.us", AZURE_AUTHORITY_HOST: "http://login.example" },
      "AZURE_AUTHORITY_HOST must be https (plain http is accepted only for a loopback address)"
    ],
    [
      { AZURE_OPENAI_ENDPOINT: "https://x.openai.azure.us", AZURE_TENANT_ID: "a/../b" },
      "AZURE_TENANT_ID must be a tenant's ID or domain"
    ],
    [
      { AZURE_OPENAI_ENDPOINT: "http://a.example" },
      "AZURE_OPENAI_ENDPOINT must be https (plain http is accepted only for a loopback address)"
    ]
  ]
  it.effect.each(wrong)("%o is named, with what would work", ([environment, says]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(load(environment))
      assert.strictEqual(explainSetting(error), says)
    })
  )
})

describe("the start says", () => {
  const keys = () => ({ GATEWAY_KEYS_FILE: join(directory, "none.json"), AWS_BEARER_TOKEN_BEDROCK: "k" })

  it.concurrent("which IDs are left out and why, in one line a reason, and that fewer files may be open than requests take", async () => {
    const gateway = await serve({
      ...keys(),
      BEDROCK_REGION: "us-east-1",
      VERTEX_ACCESS_TOKEN: "t",
      VERTEX_PROJECT: "p",
      GATEWAY_MAX_IN_FLIGHT: "99999999"
    })
    const warning = /"level":"warn","message":"open files: \d+ may be open, .* up to 199999998 .*Raise it/
    await until(() => gateway.stderr().includes("not served") && warning.test(gateway.stderr()), "the lines")
    await gateway.stop()
    const lines = gateway
      .stderr()
      .split("\n")
      .filter((line) => line.includes("are not served"))
    assert.lengthOf(lines, 1)
    assert.include(lines[0], "Bedrock region us-east-1 is not in the partition table and may serve nothing: ")
    assert.include(lines[0], "gpt-oss-120b:il5+itar")
    assert.match(gateway.stdout(), /\(clouds: vertex, bedrock; 24 model IDs; OpenSSL [\d.]+ without FIPS provider\)/)
  }, 60_000)

  it.concurrent("what is declared, which addresses on loopback stand for a cloud, and which certificates are believed", async () => {
    const gateway = await serve({
      ...keys(),
      BEDROCK_REGION: "us-gov-west-1",
      BEDROCK_BASE_URL: "https://proxy.example",
      BEDROCK_BASE_URL_BOUNDARY: "itar,il4",
      AZURE_OPENAI_ENDPOINT: "http://127.0.0.1:9",
      AZURE_OPENAI_API_KEY: "k",
      GATEWAY_LOG_FORMAT: "json",
      NODE_EXTRA_CA_CERTS: broken
    })
    await until(() => gateway.stderr().includes("NODE_EXTRA_CA_CERTS: cannot read"), "the last line")
    await gateway.stop()
    for (const words of [
      "; BEDROCK_BASE_URL https://proxy.example declared il4,itar; ",
      "; AZURE_OPENAI_ENDPOINT http://127.0.0.1:9 on loopback stands for azure/usgov; ",
      "; NODE_EXTRA_CA_CERTS "
    ])
      assert.include(gateway.stdout(), words)
    const line = gateway
      .stderr()
      .split("\n")
      .find((text) => text.includes("on loopback"))
    assert.deepInclude(JSON.parse(line ?? "null"), {
      level: "warn",
      setting: "AZURE_OPENAI_ENDPOINT",
      url: "http://127.0.0.1:9",
      served_by: "azure/usgov"
    })
  }, 60_000)

  it.concurrent("nothing of a setting that is one", async () => {
    const gateway = await serve({
      GATEWAY_HOST: "0.0.0.0",
      GATEWAY_PLAIN_HTTP: "true",
      GATEWAY_SANDBOX: "on",
      GATEWAY_DOCS: "off",
      GATEWAY_MAX_IN_FLIGHT: "10",
      VERTEX_PROJET: "p"
    })
    await until(() => gateway.stderr().includes("VERTEX_PROJET"), "the line")
    await gateway.stop()
    assert.notInclude(gateway.stderr(), "GATEWAY_")
  }, 60_000)
})
