/** One rule for proxies (docs/operation.md#proxies), for the way to the models and for every way to credentials. */
import { execFileSync } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { createServer as createTlsServer } from "node:https"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { answering, type FakeUpstream, fakeUpstream, reply } from "../support/fakeUpstream.ts"
import { cloudsAt } from "../support/gateway.ts"
import { post } from "../support/http.ts"
import { serve } from "./child.ts"
import { keysFileWith } from "./keysFile.ts"
import { ask, requestOf } from "./surfaces.ts"

/** Refuses every tunnel, and remembers who was asked for, and with which authorization. */
const recordingProxy = async () => {
  const asked: Array<string> = []
  let authorization: string | undefined
  const server: Server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.writeHead(502).end()
  }).on("connect", (request, socket) => {
    asked.push(String(request.url))
    authorization = request.headers["proxy-authorization"]
    socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" ? address?.port : 0
  return { asked, authorization: () => authorization, host: `127.0.0.1:${port}`, stop: () => server.close() }
}

const directory = mkdtempSync(join(tmpdir(), "gateway-proxy-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
const { file, secrets } = keysFileWith(directory, { caller: {} })

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
const serviceAccount = join(directory, "account.json")
writeFileSync(
  serviceAccount,
  JSON.stringify({
    type: "service_account",
    project_id: "p",
    client_email: "x@p.iam.gserviceaccount.com",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" })
  })
)

/** A request to each cloud; what became of them. */
const askEach = (url: string): Promise<ReadonlyArray<{ readonly status: number; readonly headers: Headers }>> => {
  const [path, body] = requestOf("messages", "hello")
  const vertex = post(`${url}${path}`, { ...body, model: "claude-sonnet-4-5:il2" }, { "x-api-key": secrets.caller })
  return Promise.all([
    vertex,
    ...(["messages", "chat"] as const).map((surface) => ask(url, secrets.caller, surface, "hello"))
  ])
}

describe("GATEWAY_HTTPS_PROXY", () => {
  let proxy: Awaited<ReturnType<typeof recordingProxy>>
  beforeAll(async () => {
    proxy = await recordingProxy()
  })
  afterAll(() => proxy.stop())

  const own = { GATEWAY_KEYS_FILE: file, VERTEX_PROJECT: "p", BEDROCK_REGION: "us-gov-west-1" }
  const clouds = { ...own, AZURE_OPENAI_ENDPOINT: "https://r.openai.azure.us" }

  it("is the way to every cloud, and nothing that is refused there went anywhere", async () => {
    const gateway = await serve({
      ...clouds,
      GATEWAY_HTTPS_PROXY: `http://someone:secret-password@${proxy.host}`,
      VERTEX_ACCESS_TOKEN: "t",
      AWS_BEARER_TOKEN_BEDROCK: "b",
      AZURE_OPENAI_API_KEY: "a"
    })
    try {
      for (const { status, headers } of await askEach(gateway.url)) {
        assert.strictEqual(status, 502)
        assert.isNull(headers.get("x-gateway-served-by"))
      }
      assert.includeMembers(proxy.asked, [
        "bedrock-runtime-fips.us-gov-west-1.amazonaws.com:443",
        "r.openai.azure.us:443",
        "us-east5-aiplatform.googleapis.com:443"
      ])
      assert.strictEqual(proxy.authorization(), `Basic ${Buffer.from("someone:secret-password").toString("base64")}`)
      assert.include(gateway.stdout(), `GATEWAY_HTTPS_PROXY http://${proxy.host};`)
      assert.notInclude(gateway.stdout() + gateway.stderr(), "secret-password")
    } finally {
      await gateway.stop()
    }
  }, 60_000)

  it("carries TLS to the cloud itself, whose name it checks", async () => {
    const host = "us-east5-aiplatform.googleapis.com"
    const certificate = (name: string, ...more: ReadonlyArray<string>) =>
      execFileSync(
        "openssl",
        [
          ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
          ...["-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.pem`, ...more]
        ],
        { cwd: directory, stdio: "ignore" }
      )
    certificate("ca")
    const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE"]
    certificate("cloud", "-addext", `subjectAltName=DNS:${host}`, ...signed)
    const names: Array<string> = []
    const read = (name: string) => readFileSync(join(directory, name))
    const content = { role: "model", parts: [{ text: "by the tunnel" }] }
    const cloud = createTlsServer({ cert: read("cloud.pem"), key: read("cloud.key") }, (request, response) => {
      names.push(`${request.headers.host}${request.url}`)
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ candidates: [{ content, finishReason: "STOP" }], usageMetadata: {} }))
    })
    await new Promise<void>((resolve) => cloud.listen(0, "127.0.0.1", resolve))
    const address = cloud.address()
    const port = Number(typeof address === "object" ? address?.port : 0)
    const tunnel = createServer().on("connect", (_, socket, head) => {
      const onward = connect(port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n")
        onward.write(head)
        onward.pipe(socket).pipe(onward)
      }).on("error", () => socket.destroy())
      socket.on("error", () => onward.destroy())
    })
    await new Promise<void>((resolve) => tunnel.listen(0, "127.0.0.1", resolve))
    const at = tunnel.address()
    const gateway = await serve({
      ...own,
      GATEWAY_HTTPS_PROXY: `http://127.0.0.1:${typeof at === "object" ? at?.port : 0}`,
      VERTEX_ACCESS_TOKEN: "t",
      AWS_BEARER_TOKEN_BEDROCK: "b",
      NODE_EXTRA_CA_CERTS: join(directory, "ca.pem")
    })
    try {
      const chat = (model: string) =>
        post(
          `${gateway.url}/v1/chat/completions`,
          { model, messages: [{ role: "user", content: "hi" }] },
          { "x-api-key": secrets.caller }
        )
      const got = await chat("gemini-3-flash:il2")
      assert.strictEqual(got.json.choices[0].message.content, "by the tunnel", got.text)
      assert.strictEqual(got.headers.get("x-gateway-served-by"), "vertex/us-east5")
      assert.match(names[0] ?? "", new RegExp(`^${host}/v1/projects/p/locations/us-east5/`))
      // The same certificate is not Bedrock's.
      const refused = await chat("gpt-oss-120b:il5")
      assert.strictEqual(refused.status, 502)
      assert.match(refused.text, /certificate/)
      assert.isNull(refused.headers.get("x-gateway-served-by"))
      assert.lengthOf(names, 1)
    } finally {
      await gateway.stop()
      tunnel.close()
      cloud.close()
    }
  }, 60_000)

  it("is the way to every credential", async () => {
    const token = join(directory, "token")
    writeFileSync(token, "eyJ")
    const gateway = await serve({
      ...clouds,
      GATEWAY_HTTPS_PROXY: `http://${proxy.host}`,
      GOOGLE_APPLICATION_CREDENTIALS: serviceAccount,
      AWS_WEB_IDENTITY_TOKEN_FILE: token,
      AWS_ROLE_ARN: "arn:aws-us-gov:iam::123456789012:role/x",
      AZURE_TENANT_ID: "00000000-0000-0000-0000-000000000000",
      AZURE_CLIENT_ID: "c",
      AZURE_CLIENT_SECRET: "s"
    })
    try {
      for (const { status } of await askEach(gateway.url)) assert.strictEqual(status, 502)
      const hosts = proxy.asked.map((host) => host.replace(/:443$/, ""))
      assert.include(hosts, "oauth2.googleapis.com")
      assert.include(hosts, "login.microsoftonline.us")
      assert.isTrue(
        hosts.some((host) => /^sts[.-].*us-gov-west-1\.amazonaws\.com$/.test(host)),
        String(hosts)
      )
    } finally {
      await gateway.stop()
    }
  }, 60_000)
})

describe("without it", () => {
  let proxy: Awaited<ReturnType<typeof recordingProxy>>
  let cloud: FakeUpstream
  beforeAll(async () => {
    proxy = await recordingProxy()
    cloud = await fakeUpstream(answering(reply("401 Unauthorized", "{}")))
  })
  afterAll(async () => {
    proxy.stop()
    await cloud.stop()
  })

  it("no proxy is used, whatever the usual variables say", async () => {
    const url = `http://${proxy.host}`
    const { VERTEX_ACCESS_TOKEN: _, ...clouds } = cloudsAt(cloud.url)
    const gateway = await serve({
      ...clouds,
      GATEWAY_KEYS_FILE: file,
      GCE_METADATA_HOST: new URL(cloud.url).host,
      ...Object.fromEntries(
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [
          [name, url],
          [name.toLowerCase(), url]
        ])
      )
    })
    try {
      for (const { status } of await askEach(gateway.url)) assert.strictEqual(status, 502)
      assert.deepStrictEqual(proxy.asked, [])
      assert.isTrue(cloud.received.some(({ path }) => path.startsWith("/computeMetadata/")))
    } finally {
      await gateway.stop()
    }
  }, 60_000)
})
