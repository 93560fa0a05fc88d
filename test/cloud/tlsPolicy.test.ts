/** What the gateway offers in its first message of TLS (docs/fips.md#tls). */
import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { message } from "../support/claude.ts"
import { cloudsAt, type Gateway, startGateway } from "../support/gateway.ts"
import { post } from "../support/http.ts"
import { exportTo, startProcess } from "../telemetry/support.ts"

const numbers = (bytes: Buffer): ReadonlyArray<number> =>
  Array.from({ length: Math.floor(bytes.length / 2) }, (_, at) => bytes.readUInt16BE(2 * at))

/** Cipher suites and extensions of a ClientHello (RFC 8446, 4.1.2). */
const readHello = (record: Buffer) => {
  let at = 5 + 4 + 2 + 32
  at += 1 + record.readUInt8(at)
  const suites = record.readUInt16BE(at)
  const ciphers = numbers(record.subarray(at + 2, at + 2 + suites))
  at += 2 + suites
  at += 1 + record.readUInt8(at)
  const end = at + 2 + record.readUInt16BE(at)
  const extensions = new Map<number, Buffer>()
  for (at += 2; at < end; ) {
    const size = record.readUInt16BE(at + 2)
    extensions.set(record.readUInt16BE(at), record.subarray(at + 4, at + 4 + size))
    at += 4 + size
  }
  const list = (type: number, skip: number) => numbers((extensions.get(type) ?? Buffer.alloc(0)).subarray(skip))
  return { ciphers, groups: list(10, 2), signatures: list(13, 2), versions: list(43, 1) }
}

/** The first message of TLS that comes to a port, to which `ask` leads. */
const helloOf = async (ask: (port: number) => Promise<unknown>) => {
  let heard: (record: Buffer) => void = () => {}
  const hello = new Promise<Buffer>((resolve) => {
    heard = resolve
  })
  const server = createServer((socket) =>
    socket
      .on("error", () => {})
      .once("data", (data) => {
        heard(Buffer.from(data))
        socket.destroy()
      })
  )
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const [record] = await Promise.all([hello, ask(port)]).finally(() => server.close())
  return readHello(record)
}

const withGateway = async (
  settings: Readonly<Record<string, string>>,
  use: (gateway: Gateway) => Promise<unknown> = async () => {}
) => {
  const gateway = await startGateway({ settings })
  await use(gateway).finally(() => gateway.stop())
}

describe("TLS offers 1.2 and 1.3, AES-GCM, P-256 and P-384, their signatures and RSA's, and nothing else", () => {
  it.each([
    [
      "to a cloud",
      (port: number) =>
        withGateway(cloudsAt(`https://127.0.0.1:${port}`), async ({ url }) => {
          const { status } = await post(`${url}/v1/messages`, message("claude-sonnet-4-5:il5", "hi"))
          assert.strictEqual(status, 502)
        })
    ],
    [
      "to Redis",
      (port: number) =>
        withGateway({ GATEWAY_REDIS_URL: `rediss://127.0.0.1:${port}` }).then(
          () => assert.fail("it started"),
          () => {}
        )
    ],
    [
      "to a collector",
      async (port: number) => {
        const gateway = await startProcess({
          ...exportTo(`https://127.0.0.1:${port}`),
          OTEL_EXPORTER_OTLP_TIMEOUT: "100"
        })
        await fetch(`${gateway.url}/health`)
        await gateway.stop()
      }
    ]
  ] as const)("%s", async (_, ask) => {
    const { ciphers, groups, signatures, versions } = await helloOf(ask)
    assert.sameMembers(versions as Array<number>, [0x0303, 0x0304])
    assert.sameMembers(groups as Array<number>, [23, 24])
    const suites = [0x1301, 0x1302, 0xc02b, 0xc02c, 0xc02f, 0xc030]
    assert.sameMembers(ciphers as Array<number>, suites)
    const rsa = [0x0804, 0x0805, 0x0806, 0x0809, 0x080a, 0x080b, 0x0401, 0x0501, 0x0601]
    assert.sameMembers(signatures as Array<number>, [0x0403, 0x0503, ...rsa])
  })
})
