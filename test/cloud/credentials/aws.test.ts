import { assert, describe, it } from "@effect/vitest"
import { Sha256 } from "@smithy/core/checksum"
import { SignatureV4 } from "@smithy/signature-v4"
import { Effect, Fiber, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { credentialOf } from "../../../src/cloud/bedrock.ts"
import { environment, renew, silentServer, together, tokenServer } from "./tokenServer.ts"

const region = "us-gov-west-1"
const settings = { region, fips: true, bearerToken: Option.none(), keys: Option.none() }
const host = `https://bedrock-runtime.${region}.amazonaws.com`

/** Nothing of the machine's own AWS set-up. */
const nothing = {
  AWS_PROFILE: undefined,
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_SESSION_TOKEN: undefined,
  AWS_WEB_IDENTITY_TOKEN_FILE: undefined,
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: undefined,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: undefined,
  AWS_CONFIG_FILE: "/nonexistent",
  AWS_SHARED_CREDENTIALS_FILE: "/nonexistent",
  AWS_EC2_METADATA_DISABLED: "true"
}

const fixed = environment({
  ...nothing,
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  AWS_SESSION_TOKEN: "TOK"
})

const request = (url: string, headers: Record<string, string> = {}) => ({
  url: new URL(url),
  region,
  headers,
  body: Buffer.from('{"a":1}')
})

const container = (url: string) =>
  environment({
    ...nothing,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/creds`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: "a"
  })

const role = (n: number, life = 3_600_000) => ({
  json: {
    AccessKeyId: `ASIA${n}`,
    SecretAccessKey: `secret-${n}`,
    Token: `session-${n}`,
    Expiration: new Date(Date.now() + life).toISOString()
  }
})

describe("aws", () => {
  for (const [path, signature] of [
    [
      "/model/anthropic.claude-3-haiku-20240307-v1%3A0/invoke-with-response-stream",
      "1d2a953639719d15cc976268f80e19628ce7c1c4f39e29182aa0fc22e684e07f"
    ],
    [
      "/model/arn%3Aaws-us-gov%3Abedrock%3Aus-gov-west-1%3A123456789012%3Ainference-profile%2Fus-gov.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream",
      "7b13a8acee2a6b5ddf31565c648dab16247fd894583c7db12ebe914e58f86e52"
    ]
  ] as const) {
    it.effect(`signs ${path.slice(0, 30)}…`, () =>
      Effect.gen(function* () {
        yield* fixed
        yield* TestClock.setTime(Date.UTC(2026, 0, 2, 3, 4, 5))
        const { headers: sign } = yield* credentialOf({ ...settings, region: "us-east-1" })
        const expected = {
          "x-amz-date": "20260102T030405Z",
          "x-amz-security-token": "TOK",
          authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/${region}/bedrock/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=${signature}`
        }
        assert.deepStrictEqual(yield* sign(request(host + path)), expected)
      })
    )
  }

  it.effect("signs with fixed keys as with the same ones from the chain", () =>
    Effect.gen(function* () {
      yield* fixed
      const keys = {
        accessKeyId: Redacted.make("AKIDEXAMPLE"),
        secretAccessKey: Redacted.make("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        sessionToken: Option.some(Redacted.make("TOK"))
      }
      const given = yield* credentialOf({ ...settings, keys: Option.some(keys) })
      const found = yield* credentialOf(settings)
      const signed = yield* given.headers(request(`${host}/model/m/invoke`))
      assert.deepStrictEqual(signed, yield* found.headers(request(`${host}/model/m/invoke`)))
      assert.isUndefined(given.refresh)
      const lasting = yield* credentialOf({ ...settings, keys: Option.some({ ...keys, sessionToken: Option.none() }) })
      assert.notProperty(yield* lasting.headers(request(`${host}/model/m/invoke`)), "x-amz-security-token")
    })
  )

  it.effect("signs the host that will be sent, and the caller's headers", () =>
    Effect.gen(function* () {
      yield* fixed
      yield* TestClock.setTime(Date.UTC(2026, 0, 2, 3, 4, 5))
      const { headers: sign } = yield* credentialOf({ ...settings, fips: false })
      const headers = { "content-type": "application/json", accept: "*/*" }
      const signed = yield* sign(request("http://127.0.0.1:8123/model/m/invoke?b=2&a=1", headers))
      assert.notProperty(signed, "host")
      assert.strictEqual(signed["content-type"], "application/json")
      const own = new SignatureV4({
        service: "bedrock",
        region,
        sha256: Sha256,
        applyChecksum: false,
        credentials: {
          accessKeyId: "AKIDEXAMPLE",
          secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
          sessionToken: "TOK"
        }
      })
      const again = yield* Effect.promise(() =>
        own.sign(
          {
            method: "POST",
            protocol: "http:",
            hostname: "127.0.0.1",
            path: "/model/m/invoke",
            query: { a: "1", b: "2" },
            headers: { ...headers, host: "127.0.0.1:8123" },
            body: '{"a":1}'
          },
          { signingDate: new Date(Date.UTC(2026, 0, 2, 3, 4, 5)) }
        )
      )
      assert.strictEqual(signed.authorization, again.headers.authorization)
    })
  )

  it.live("sends a bearer key instead of a signature", () =>
    Effect.gen(function* () {
      const { headers: sign, refresh } = yield* credentialOf({
        ...settings,
        bearerToken: Option.some(Redacted.make("key"))
      })
      const headers = yield* sign(request(`${host}/model/m/invoke`, { accept: "*/*" }))
      assert.deepStrictEqual(headers, { accept: "*/*", authorization: "Bearer key" })
      assert.isUndefined(refresh)
    })
  )

  it.live("takes credentials from the container endpoint, once for all, and new ones when refused", () =>
    Effect.gen(function* () {
      const server = yield* tokenServer((_, n) => role(n))
      yield* container(server.url)
      const { headers: sign, refresh } = yield* credentialOf(settings)
      const one = sign(request(`${host}/model/m/invoke`))
      const all = yield* together(one, 100)
      assert.isTrue(all.every((headers) => headers["x-amz-security-token"] === "session-1"))
      assert.strictEqual(server.requests.length, 1)
      const refused = all[0] ?? {}
      yield* together(renew({ refresh }, refused), 100)
      yield* renew({ refresh }, refused)
      const renewed = yield* one
      assert.strictEqual(renewed["x-amz-security-token"], "session-2")
      assert.strictEqual(server.requests.length, 2)
      // What refuses new ones as well is no fault of theirs.
      yield* together(renew({ refresh }, renewed), 100)
      yield* renew({ refresh }, renewed)
      assert.strictEqual(server.requests.length, 2)
    })
  )

  it.live("replaces credentials early in the background, and serves the old ones while that fails", () =>
    Effect.gen(function* () {
      const server = yield* tokenServer((_, n) => (n === 1 ? role(n, 200_000) : { status: 400, json: {} }))
      yield* container(server.url)
      const { headers: sign } = yield* credentialOf(settings)
      const one = sign(request(`${host}/model/m/invoke`))
      yield* one
      assert.strictEqual((yield* one)["x-amz-security-token"], "session-1")
      yield* Effect.sleep("50 millis")
      assert.strictEqual((yield* one)["x-amz-security-token"], "session-1")
      assert.isAbove(server.requests.length, 1)
    })
  )

  it.effect("gives up a container endpoint that does not answer, and asks it again", () =>
    Effect.gen(function* () {
      yield* container((yield* silentServer).url)
      const { headers: sign } = yield* credentialOf(settings)
      const one = sign(request(`${host}/model/m/invoke`))
      const waiting = yield* Effect.forkChild(Effect.flip(one), { startImmediately: true })
      yield* TestClock.adjust("30 seconds")
      const error = yield* Fiber.join(waiting)
      assert.match(error.message, /did not answer in 30 seconds/)
      yield* container((yield* tokenServer((_, n) => role(n))).url)
      assert.strictEqual((yield* one)["x-amz-security-token"], "session-1")
    })
  )

  it.live("says that the chain found nothing and which file it cannot read, without quoting the library", () =>
    Effect.gen(function* () {
      yield* environment({ ...nothing, AWS_WEB_IDENTITY_TOKEN_FILE: "/nonexistent/token", AWS_ROLE_ARN: "secret" })
      const { headers: sign } = yield* credentialOf(settings)
      const error = yield* Effect.flip(sign(request(`${host}/model/m/invoke`)))
      assert.match(error.message, /^no credentials from the AWS default chain \(/)
      assert.include(
        error.message,
        ". AWS_WEB_IDENTITY_TOKEN_FILE: cannot read /nonexistent/token (there is no such file)"
      )
      assert.notInclude(JSON.stringify(error) + String(error.stack) + String(error.cause), "secret")
    })
  )
})
