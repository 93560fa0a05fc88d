import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { makeSourceOf } from "../../src/http/authenticate.ts"
import { isNetworkList } from "../../src/settings/networks.ts"
import { until } from "../operation/child.ts"
import { startGateway } from "../support/gateway.ts"
import { post } from "../support/http.ts"

const request = (remote: string, forwarded?: string) =>
  HttpServerRequest.fromWeb(
    new Request("http://gateway/", forwarded === undefined ? {} : { headers: { "x-forwarded-for": forwarded } })
  ).modify({ remoteAddress: Option.some(remote) })

describe("a caller's address", () => {
  const trusted = "10.0.0.0/8,fd00::/8,192.0.2.7"
  it.each([
    ["not from a proxy", "203.0.113.9", undefined, "203.0.113.9"],
    ["a forged header of a stranger", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["a proxy that says nothing", "10.1.2.3", undefined, "10.1.2.3"],
    ["by one proxy", "10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["what the caller wrote before it", "10.1.2.3", "1.1.1.1, 198.51.100.1", "198.51.100.1"],
    ["by two proxies", "10.1.2.3", "1.1.1.1, 198.51.100.1, 192.0.2.7", "198.51.100.1"],
    ["by trusted hosts only", "10.1.2.3", "10.9.9.9, 10.8.8.8", "10.9.9.9"],
    ["IPv4 in IPv6", "::ffff:10.1.2.3", "::ffff:198.51.100.1", "198.51.100.1"],
    ["IPv6", "fd00::1", "2001:db8::5", "2001:db8::5"],
    ["IPv6 that ends in digits", "10.1.2.3", "2001:db8:0:0:0:0:5:6, [fd00::2]", "2001:db8:0:0:0:0:5:6"],
    ["with a zone, and IPv4 in IPv6 in capitals", "fd00::1%eth0", "::FFFF:198.51.100.1", "198.51.100.1"],
    ["with more behind the port", "10.1.2.3", "198.51.100.1:80:80, 10.0.0.1", "10.0.0.1"],
    ["with ports", "10.1.2.3", "[2001:db8::5]:4711, 10.0.0.1:80", "2001:db8::5"],
    ["no address", "10.1.2.3", "198.51.100.1, unknown", "10.1.2.3"],
    ["empty", "10.1.2.3", " , ", "10.1.2.3"],
    ["a long list", "10.1.2.3", "10.0.0.1,".repeat(5000), "10.1.2.3"]
  ] as const)("%s", (_, remote, forwarded, source) => {
    assert.strictEqual(makeSourceOf(Option.some(trusted))(request(remote, forwarded)), source)
  })

  it("is that of the connection where no proxy is trusted", () => {
    assert.strictEqual(makeSourceOf(Option.none())(request("10.1.2.3", "198.51.100.1")), "10.1.2.3")
  })

  it("is in the record", async () => {
    const gateway = await startGateway({ settings: { GATEWAY_TRUSTED_PROXIES: "127.0.0.0/8" } })
    try {
      const headers = { "x-forwarded-for": "198.51.100.1, 203.0.113.9" }
      await post(`${gateway.url}/v1/embeddings`, { model: "titan-embed-text-v2:il5", input: "x" }, headers)
      await until(() => gateway.records().length === 1, "the record")
      assert.strictEqual(gateway.records()[0]?.source, "203.0.113.9")
    } finally {
      await gateway.stop()
    }
  })
})

describe("a list of networks", () => {
  it.each(["10.0.0.0/8", "10.0.0.0/8, ::1", "2001:db8::/32,192.0.2.7/32"])("%s", (list) => {
    assert.isTrue(isNetworkList(list))
  })
  it.each(["", "10.0.0.0/33", "10.0.0/8", "::/0", "0.0.0.0/0", "10.0.0.0/8,", "10.0.0.0/8/8", "proxy", "fe80::1%eth0"])(
    "%j is none",
    (list) => {
      assert.isFalse(isNetworkList(list))
    }
  )
})
