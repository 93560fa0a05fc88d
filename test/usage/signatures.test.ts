/** Signed heads of chains: what a key finds that the chain alone does not. */
import { execFileSync } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { ocsfPlace } from "../../src/limits/ocsf.ts"
import { makeUsageLog } from "../../src/limits/UsageLog.ts"
import { makeChain, readSigner, readVerifier } from "../../src/limits/usageChain.ts"
import { makeChainChecking } from "../../src/operators/usage/chainCheck.ts"
import { sharedCommands } from "../operation/commands.ts"
import { startGateway } from "../support/gateway.ts"
import { record } from "./records.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-signed-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const command = sharedCommands()

const keyPair = (name: string, curve = "P-256") => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: curve })
  const files = { key: join(folder, `${name}.key`), pub: join(folder, `${name}.pub`) }
  writeFileSync(files.key, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 })
  writeFileSync(files.pub, publicKey.export({ type: "spki", format: "pem" }))
  return files
}
const own = keyPair("own")
const other = keyPair("other")
const signer = await Effect.runPromise(readSigner(own.key))
const verifierOf = (file: string) => Effect.runPromise(readVerifier(file))

const linesOf = (format: "gateway" | "ocsf") => {
  const chain = makeChain(undefined, { format, signer })
  const lines = [chain.seal(false), ...[1, 2].map((n) => chain.link(record(n))), chain.seal(false)]
  return [...lines, ...[3, 4].map((n) => chain.link(record(n))), chain.seal(true)].map((line) => line.trim())
}
const check = async (lines: ReadonlyArray<string>, file = own.pub) => {
  const checking = makeChainChecking(() => true, await verifierOf(file))
  for (const [at, line] of lines.entries()) checking.line(line, { file: "records", line: at + 1 })
  return checking.result()
}

describe.each(["gateway", "ocsf"] as const)("a signed chain in the form %s", (format) => {
  const lines = linesOf(format)

  it("is whole by its key", async () => {
    assert.deepInclude(await check(lines), { breaks: 0, covered: 7, open: [], records: 7 })
  })

  it("has signatures that nobody checks without the key", () => {
    const checking = makeChainChecking()
    for (const [at, line] of lines.entries()) checking.line(line, { file: "records", line: at + 1 })
    assert.deepInclude(checking.result(), { breaks: 0, unchecked: 3, covered: undefined })
  })

  it("shows a tail that was removed, with a signature and after one", async () => {
    for (const [kept, text] of [
      [6, "records 5 to 6 stand after the last signature, which does not prove them"],
      [5, "record 5 stands after the last signature, which does not prove it, nor"],
      [4, "not with that of a stop: nothing proves that none followed"]
    ] as const) {
      const { breaks, covered, open } = await check(lines.slice(0, kept))
      assert.deepStrictEqual([breaks, covered], [0, 4])
      assert.match(open.join(), new RegExp(text))
    }
  })

  it("is proven by the signature of the process that starts after it was killed, also of a file that was rotated before", async () => {
    const killed = makeChain(undefined, { format, signer })
    const first = [killed.seal(false), killed.link(record(1)), killed.link(record(2))]
    const next = makeChain(killed.head(), { format, signer })
    const after = [next.seal(false), next.link(record(3)), next.seal(true)]
    const all = [...first, ...after].map((line) => line.trim())
    assert.deepInclude(await check(all), { breaks: 0, covered: 6, open: [] })
    assert.deepInclude(await check([...all.slice(0, 1), ...all.slice(3)]), { breaks: 1, covered: 4 })
    const rotated = await check(all.slice(2))
    assert.deepInclude(rotated, { breaks: 0, covered: 4 })
    assert.match(rotated.open.join(), /^[^,]*begins at records:1 with record 3/)
    // What it was linked to was changed, with nothing signed behind it.
    const changed = await check([...all.slice(0, 2), (all[2] ?? "").replaceAll("key_1", "key_2"), ...all.slice(3)])
    assert.isAbove(changed.breaks, 0)
    assert.strictEqual(changed.covered, 4)
  })

  it("covers nothing that was changed, nor what stands between that and the signature before", async () => {
    const changed = (at: number) => lines.with(at, (lines[at] ?? "").replaceAll("key_1", "key_2"))
    // Records 1, 4 and 7 are signatures.
    for (const [at, covered] of [
      [1, 6],
      [2, 5],
      [4, 6],
      [5, 5]
    ] as const) {
      assert.deepStrictEqual((await check(changed(at))).covered, covered, `record ${at + 1}`)
    }
    // Forged and linked again: only the ends of what was forged show.
    const second = JSON.parse(lines[1] ?? "")
    const forger = makeChain(undefined, { format, instance: second.instance ?? second.attestation_list[0].chain_uid })
    const [, ...forged] = [1, 8, 9].map((n) => forger.link(record(n)).trim())
    assert.strictEqual((await check([...lines.slice(0, 1), ...forged, ...lines.slice(3)])).covered, 4)
    // What a gap divides from the next signature.
    assert.strictEqual((await check(lines.toSpliced(2, 1))).covered, 5)
  })

  it("covers the same in whatever order its files are read", async () => {
    assert.deepInclude(await check([...lines.slice(4), ...lines.slice(0, 4)]), { covered: 7 })
  })

  it("shows that a signature was made the last one by another hand, or is it no more", async () => {
    const claiming = (line: string, last: string | undefined) => {
      const event = JSON.parse(line)
      const { detail } = event.unmapped ?? event
      if (last === undefined) delete detail.last
      else detail.last = last
      // Who writes the file can make the fingerprint anew.
      if (event.attestation_list) event.attestation_list[0].fingerprint.value = ocsfPlace(event)?.digest
      return JSON.stringify(event)
    }
    const cut = [...lines.slice(0, 3), claiming(lines[3] ?? "", "true")]
    for (const changed of [cut, lines.with(6, claiming(lines[6] ?? "", undefined))]) {
      const { breaksAt } = await check(changed)
      assert.match(breaksAt.map(({ text }) => text).join(), /^has a wrong signature/)
    }
  })

  it("shows each byte that is changed of the last signature's own record", async () => {
    const [before, line] = [lines.slice(5, 6), lines[6] ?? ""]
    const { covered } = await check([...before, line])
    // Every third is enough for every field.
    for (let place = 0; place < line.length; place += 3) {
      const changed = `${line.slice(0, place)}${line[place] === "7" ? "8" : "7"}${line.slice(place + 1)}`
      const found = await check([...before, changed])
      assert.isTrue(found.breaks > 0 || found.covered !== covered, `${place} of ${changed}`)
    }
  })

  it("has no record beside it that no key has signed", async () => {
    const { breaksAt } = await check([JSON.stringify(record(9)), ...lines])
    assert.deepStrictEqual(
      breaksAt.map(({ kind, place }) => [kind, place.line]),
      [["unchained", 1]]
    )
  })

  it("shows the key of somebody else, and a chain that was written anew", async () => {
    const wrong = await check(lines, other.pub)
    assert.isAbove(wrong.breaks, 0)
    assert.match(wrong.breaksAt[0]?.text ?? "", /another key/)
    const forger = makeChain(undefined, { format, instance: "ab" })
    const forged = await check([1, 2, 3].map((n) => forger.link(record(n)).trim()))
    assert.match(forged.breaksAt[0]?.text ?? "", /has not signed/)
    assert.isAbove((await check([JSON.stringify(record(1))])).breaks, 0)
  })

  it("shows a record that was changed and linked again with all that follow", async () => {
    // Who has no key can only leave the signatures as they are.
    const [, first, second] = lines.map((line) => JSON.parse(line))
    const forger = makeChain(undefined, { format, instance: first.instance ?? second.attestation_list[0].chain_uid })
    const parts = [1, 2].map((n) => forger.link(record(n, { key_id: "key_2" })).trim())
    const seal = makeChain(forger.head(), { format, instance: forger.head().instance, signer })
    const copied = JSON.parse(lines[3] ?? "")
    const unmapped = copied.unmapped ?? copied
    const signature = unmapped.detail.signature
    const forged = JSON.parse(seal.seal(true))
    ;(forged.unmapped ?? forged).detail.signature = signature
    const verdict = await check([...parts, JSON.stringify(forged)])
    assert.isAbove(verdict.breaks, 0)
    assert.match(verdict.breaksAt.map(({ text }) => text).join(), /wrong signature/)
  })
})

describe("a usage log with a key", () => {
  it.effect("signs at the start, in each minute that had records, and at the stop", () =>
    Effect.gen(function* () {
      let text = ""
      const audits = () => (text.match(/.+/g) ?? []).map((line) => JSON.parse(line).audit ?? "record")
      const log = yield* Effect.forkChild(
        Effect.scoped(
          Effect.gen(function* () {
            const { record: add } = yield* makeUsageLog(
              (lines) =>
                Effect.sync(() => {
                  text += lines.splice(0).join("")
                }),
              { signer }
            )
            add(record(1))
            yield* Effect.sleep("3 minutes")
            add(record(2))
            yield* Effect.sleep("90 seconds")
          })
        ),
        { startImmediately: true }
      )
      for (let n = 0; n < 5; n++) {
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 150)))
        yield* TestClock.adjust("1 minute")
      }
      yield* Fiber.join(log)
      assert.deepStrictEqual(audits(), [
        "chain.signed",
        "record",
        "chain.signed",
        "record",
        "chain.signed",
        "chain.signed"
      ])
    }).pipe(Effect.scoped)
  )

  it.live("signs at the stop also where as many records wait as may", () =>
    Effect.gen(function* () {
      let text = ""
      const open = yield* Deferred.make<void>()
      const sink = (lines: Array<string>) =>
        Effect.map(Deferred.await(open), () => {
          text += lines.splice(0).join("")
        })
      yield* Effect.gen(function* () {
        const { record: add } = yield* makeUsageLog(sink, { signer, capacity: 2 })
        yield* Effect.sleep("20 millis")
        for (let n = 0; n < 2; n++) add(record(n))
        yield* Effect.forkDetach(Effect.delay(Deferred.succeed(open, undefined), "50 millis"))
      }).pipe(Effect.scoped)
      const { breaks, open: unproven } = yield* Effect.promise(() => check(text.trim().split("\n")))
      assert.deepStrictEqual([breaks, unproven], [0, []])
    })
  )

  it.each([
    ["is missing", () => join(folder, "none.key"), /does not exist.*openssl genpkey/],
    ["is on another curve", () => keyPair("p384", "P-384").key, /no private key on P-256/],
    ["is no key", () => own.pub, /no private key on P-256/]
  ] as const)("does not start where it %s", async (_, file, why) => {
    const failure = await startGateway({ settings: { GATEWAY_RECORD_SIGNING_KEY: file() } }).then(
      (gateway) => gateway.stop().then(() => "started"),
      String
    )
    assert.match(failure, why)
  })
})

describe("usage verify --public-key", () => {
  it("checks what a gateway and its commands have signed, also by a certificate", async () => {
    const log = join(folder, "used.jsonl")
    const environment = {
      GATEWAY_RECORD_SIGNING_KEY: own.key,
      GATEWAY_USAGE_LOG: log,
      GATEWAY_AUDIT_LOG: log,
      GATEWAY_KEYS_FILE: join(folder, "keys.json"),
      HOME: folder
    }
    const run = (...args: ReadonlyArray<string>) => command(args, environment)
    assert.strictEqual((await run("keys", "create", "--name", "x")).code, 0)
    const gateway = await startGateway({ settings: environment })
    await (await fetch(`${gateway.url}/v1/models`, { headers: { "x-api-key": "wrong" } })).text()
    await gateway.stop()
    execFileSync("openssl", ["req", "-x509", "-key", own.key, "-subj", "/CN=records", "-out", join(folder, "own.pem")])
    for (const file of [own.pub, join(folder, "own.pem")]) {
      const verified = await run("usage", "verify", "--public-key", file)
      assert.strictEqual(verified.code, 0, verified.stdout + verified.stderr)
      assert.notInclude(verified.stdout, "open:")
    }
    const keyless = await run("usage", "verify")
    assert.match(
      keyless.stdout,
      /: no break\.\n\d+ heads are signed, and were not checked: give the key with --public-key\.\n$/
    )
    const wrong = await run("usage", "verify", "--public-key", other.pub)
    assert.deepStrictEqual([wrong.code, /another key/.test(wrong.stdout)], [1, true])
    const missing = await run("usage", "verify", "--public-key", join(folder, "none.pub"))
    assert.match(missing.stderr, /--public-key: .*none\.pub does not exist/)
    assert.notInclude(readFileSync(log, "utf8"), "PRIVATE")
  }, 60_000)
})
