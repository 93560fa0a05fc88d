/** An OpenID Connect provider that others have written issues the tokens. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { haveTools, toolFile } from "../tools/tools.ts"
import { makeKey } from "./issuer.ts"

const audience = "urn:gateway"

describe.skipIf(!haveTools()).each(["ES256", "RS256"] as const)("tokens of oidc-provider, signed with %s", (alg) => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-oidc-"))
  const server = createServer()
  let gateway: Gateway
  let issuer: string

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { exportJWK } = await import("jose")
    const { jwk, privateKey } = await makeKey(alg, "one")
    const { default: Provider } = await import(toolFile("oidc-provider/lib/index.js"))
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: "job-1",
          client_secret: "of-the-test",
          grant_types: ["client_credentials"],
          redirect_uris: [],
          response_types: [],
          id_token_signed_response_alg: alg
        }
      ],
      jwks: { keys: [{ ...jwk, ...(await exportJWK(privateKey)) }] },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => audience,
          getResourceServerInfo: () => ({ scope: "", audience, accessTokenFormat: "jwt", jwt: { sign: { alg } } })
        }
      }
    })
    server.on("request", provider.callback())
    const file = join(folder, "identity.json")
    writeFileSync(
      file,
      JSON.stringify({
        version: 1,
        issuers: [{ issuer, audience, jwks: `${issuer}/jwks` }],
        rules: [{ issuer, claims: { sub: "job-1" }, name: "nightly" }]
      })
    )
    gateway = await startGateway({ settings: { GATEWAY_IDENTITY_FILE: file }, sandbox: true })
  })
  afterAll(async () => {
    await gateway.stop()
    server.close()
    server.closeAllConnections()
    rmSync(folder, { recursive: true, force: true })
  })

  it("are taken by the OpenAI SDK's own client", async () => {
    const reply = await fetch(`${issuer}/token`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from("job-1:of-the-test").toString("base64")}` },
      body: new URLSearchParams({ grant_type: "client_credentials", resource: audience })
    })
    const granted: ReturnType<typeof JSON.parse> = await reply.json()
    assert.strictEqual(reply.status, 200, JSON.stringify(granted))
    const openai = new OpenAI({ apiKey: granted.access_token, baseURL: `${gateway.url}/v1`, maxRetries: 3 })
    const { choices } = await openai.chat.completions.create({
      model: "gemini-3-flash:il2",
      messages: [{ role: "user", content: "Hello" }]
    })
    assert.strictEqual(choices[0]?.finish_reason, "stop")
  })
})
