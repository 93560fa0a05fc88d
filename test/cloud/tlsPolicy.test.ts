/** What the gateway offers a cloud in its first message of TLS (docs/fips.md#tls). */
import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { message } from "../support/claude.ts"
import { cloudsAt, startGateway } from "../support/gateway.ts"
import { post } from "../support/http.ts"

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

describe("a connection to a cloud", () => {
  it("offers TLS 1.2 and 1.3, AES-GCM, P-256 and P-384, and nothing else", async () => {
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
    const port = typeof address === "object" ? address?.port : 0
    const gateway = await startGateway({ settings: cloudsAt(`https://127.0.0.1:${port}`) })
    try {
      const [got, record] = await Promise.all([
        post(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il5", "hi")),
        hello
      ])
      assert.strictEqual(got.status, 502)
      const { ciphers, groups, signatures, versions } = readHello(record)
      assert.sameMembers(versions as Array<number>, [0x0303, 0x0304])
      assert.sameMembers(groups as Array<number>, [23, 24])
      const suites = [0x1301, 0x1302, 0xc02b, 0xc02c, 0xc02f, 0xc030]
      assert.sameMembers(ciphers as Array<number>, suites)
      const rsa = [0x0804, 0x0805, 0x0806, 0x0809, 0x080a, 0x080b, 0x0401, 0x0501, 0x0601]
      assert.sameMembers(signatures as Array<number>, [0x0403, 0x0503, ...rsa])
    } finally {
      await gateway.stop()
      server.close()
    }
  })
})
