import { assert, describe, it } from "@effect/vitest"
import { Hash } from "@smithy/core/serde"
import { SignatureV4 } from "@smithy/signature-v4"
import { checkSignature, chunk, frame } from "../../src/sandbox/cloud/bedrock.ts"

const vector = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  region: "us-gov-west-1"
}

describe("SigV4", () => {
  const now = Date.parse("2026-01-02T03:04:05Z")
  const sign = (date: Date, over: { region?: string; service?: string } = {}) =>
    new SignatureV4({
      credentials: vector,
      region: vector.region,
      service: "bedrock",
      sha256: Hash.bind(null, "sha256"),
      ...over
    }).sign(
      {
        method: "POST",
        protocol: "http:",
        hostname: "h",
        path: "/model/a%3A0/invoke",
        headers: { host: "h:1" },
        body: "{}"
      },
      { signingDate: date }
    )
  const check = async (
    date: number,
    change: (headers: Record<string, string>) => void = () => {},
    body = "{}",
    over = {}
  ) => {
    const { headers } = await sign(new Date(date), over)
    change(headers)
    const request = {
      method: "POST",
      path: "/model/a%3A0/invoke",
      query: new URLSearchParams(),
      headers,
      body: Buffer.from(body)
    }
    return (await checkSignature(request, vector, now))?.code ?? "accepted"
  }

  it("accepts what the signer makes, and nothing else", async () => {
    assert.strictEqual(await check(now), "accepted")
    assert.strictEqual(await check(now - 299_000), "accepted")
    assert.strictEqual(await check(now - 301_000), "InvalidSignatureException")
    assert.strictEqual(await check(now, undefined, '{"a":1}'), "InvalidSignatureException")
    assert.strictEqual(await check(now, undefined, "{}", { region: "us-gov-east-1" }), "InvalidSignatureException")
    assert.strictEqual(await check(now, undefined, "{}", { service: "bedrock-mantle" }), "InvalidSignatureException")
    assert.strictEqual(
      await check(now, (headers) => Object.assign(headers, { host: "other" })),
      "InvalidSignatureException"
    )
    assert.strictEqual(
      await check(now, (headers) => Object.assign(headers, { "x-amz-security-token": "T" })),
      "UnrecognizedClientException"
    )
    const signed = (headers: Record<string, string>, name: string) =>
      Object.assign(headers, { authorization: headers.authorization?.replace("SignedHeaders=", `$&${name};`) })
    for (const name of ["constructor", "__proto__"])
      assert.strictEqual(await check(now, (headers) => signed(headers, name)), "InvalidSignatureException")
    assert.strictEqual(
      await check(now, (headers) => delete headers.authorization),
      "MissingAuthenticationTokenException"
    )
    assert.strictEqual(
      await check(now, (headers) => Object.assign(headers, { authorization: "AWS4 no" })),
      "IncompleteSignatureException"
    )
  })
})

describe("event-stream frames", () => {
  it("are the documented bytes", () => {
    assert.strictEqual(
      Buffer.from(frame("exception", "throttlingException", { message: "slow down" })).toString("hex"),
      "0000008800000061de0175f40f3a657863657074696f6e2d747970650700137468726f74746c696e67457863657074696f6e0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d74797065070009657863657074696f6e7b226d657373616765223a22736c6f7720646f776e227d832ee072"
    )
    assert.strictEqual(
      Buffer.from(chunk("{}")).toString("hex"),
      "000000740000004b887e017e0b3a6576656e742d747970650700056368756e6b0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b226279746573223a226533303d222c2270223a226162227dd21f3a09"
    )
  })
})
