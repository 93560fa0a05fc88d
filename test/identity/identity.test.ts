import { once } from "node:events"
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Metric, Option, Schedule } from "effect"
import { CompactSign, UnsecuredJWT } from "jose"
import { vi } from "vitest"
import type { CallerIdentity } from "../../src/contract/Security.ts"
import { Identity } from "../../src/identity/Identity.ts"
import {
  Authority,
  Issuer as IssuerFields,
  parseIdentity,
  readIdentity,
  TokenRule
} from "../../src/identity/IdentityFile.ts"
import { identityLayer } from "../../src/identity/identityLayer.ts"
import { fetchKeys } from "../../src/identity/token.ts"
import { Keys } from "../../src/limits/Keys.ts"
import { keysFileWith } from "../operation/keysFile.ts"
import { called } from "../support/called.ts"
import { root } from "../support/readme.ts"
import { assertShortTurns } from "../support/shortTurns.ts"
import { makeAuthority } from "./certificates.ts"
import {
  type Algorithm,
  type Issuer,
  type Key,
  makeKey,
  seconds,
  startIssuer,
  type TokenOptions,
  tokenOf
} from "./issuer.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-identity-"))
const keys = keysFileWith(folder, { some: {} }, [{ name: "atlas", requestsPerMinute: 7 }])
const lines: Array<string> = []
const logs = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])

let issuer: Issuer
let other: Issuer
const signing = new Map<Algorithm, Key>()
let stranger: Key
beforeAll(async () => {
  for (const alg of ["ES256", "ES384", "RS256", "PS256"] as const) signing.set(alg, await makeKey(alg, alg))
  stranger = await makeKey("ES256", "ES256")
  issuer = await startIssuer([...signing.values()])
  other = await startIssuer([stranger])
})
afterAll(async () => {
  await Promise.all([issuer.stop(), other.stop()])
  rmSync(folder, { recursive: true, force: true })
})

const keyOf = (alg: Algorithm): Key => signing.get(alg) ?? assert.fail(alg)

let made = 0
const writeIdentity = (content: unknown, file = join(folder, `identity-${made++}.json`)): string => {
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
  return file
}
const everybody = (more: object = {}) => ({
  version: 1,
  issuers: [{ issuer: issuer.url, audience: "gateway", jwks: issuer.jwks }],
  rules: [{ issuer: issuer.url, claims: { sub: "*" } }],
  ...more
})

/** Runs with the identities of a file, which is looked at every 20 ms. */
const using = <A, E>(file: string, effect: Effect.Effect<A, E, Identity>) =>
  effect.pipe(
    Effect.provide(
      identityLayer({ file, poll: "20 millis" }).pipe(
        Layer.provide(Keys.layer({ file: keys.file })),
        Layer.provide(NodeFileSystem.layer),
        Layer.provide(logs)
      )
    )
  )

const ofToken = (token: string) => Effect.flatMap(Identity, (identity) => identity.ofToken(token))
const signed = (options: TokenOptions = {}, key: Key = keyOf("ES256"), from = issuer.url) =>
  Effect.promise(() => tokenOf(from, key, options))
const caller = (options?: TokenOptions, key?: Key) => Effect.flatMap(signed(options, key), ofToken)
const whyOf = (options?: TokenOptions, key?: Key) =>
  Effect.map(Effect.flip(caller(options, key)), ({ message }) => message)
/** The keys are fetched when the layer is made, which does not wait for them. */
const fetched = Effect.exit(
  Effect.retry(
    Effect.suspend(() => caller()),
    { while: ({ reason }) => reason === "overloaded", schedule: Schedule.spaced("5 millis") }
  )
)

describe("the revocation lists of authorities", () => {
  it.live("are measured by the first that ends, also when it is renewed", () => {
    const [agency, piv, old] = ["agency", "piv", "old"].map((name) =>
      makeAuthority(mkdtempSync(join(folder, name)), name)
    )
    if (agency === undefined || piv === undefined || old === undefined) return assert.fail()
    old.list("old.crl", "-crldays", "1")
    const authority = ["basicConstraints=CA:TRUE", "keyUsage=keyCertSign,cRLSign"].flatMap((one) => ["-addext", one])
    old.openssl(..."req -new -config ca.cnf -key ca.key -subj /O=Agency/CN=old -out old.csr".split(" "), ...authority)
    const ended = "-startdate 20200101000000Z -enddate 20210101000000Z -out ca.pem"
    old.openssl(...`ca -config ca.cnf -selfsign -keyfile ca.key -batch -in old.csr ${ended}`.split(" "))
    agency.list("some.crl", "-crldays", "9")
    agency.list("other.crl", "-crldays", "3")
    piv.list("piv.crl", "-crldays", "5")
    const authorities = [
      { name: "agency", certificates: agency.pem, crl: ["some.crl", "other.crl"].map(agency.path) },
      { name: "piv", certificates: piv.pem, crl: piv.path("piv.crl") },
      { name: "without", certificates: piv.pem },
      { name: "ended", certificates: old.pem, crl: old.path("old.crl") }
    ]
    const rules = [{ authority: "agency", certificate: { subject: "*" } }]
    const days = Effect.map(Metric.snapshot, (metrics) => {
      const found = metrics.find(({ id }) => id === "gateway_revocation_list_expiry_days")
      return found && Math.round(Number(Object(found.state).value))
    })
    const becomes = (expected: number | undefined) =>
      Effect.repeat(days, { until: (left) => left === expected, schedule: Schedule.spaced("5 millis") })
    const file = writeIdentity({ version: 1, authorities, rules })
    return using(
      file,
      Effect.gen(function* () {
        yield* becomes(5)
        piv.list("piv.crl", "-crldays", "20")
        yield* becomes(9)
        writeIdentity({ version: 1, authorities: [{ name: "agency", certificates: agency.pem }], rules }, file)
        yield* becomes(undefined)
      })
    )
  })
})

describe("an intermediate authority", () => {
  it.live("issues until the list of the one above it revokes it", () => {
    const top = makeAuthority(mkdtempSync(join(folder, "root")), "root")
    const middle = makeAuthority(mkdtempSync(join(folder, "middle")), "middle")
    const extensions = ["basicConstraints=CA:TRUE", "keyUsage=keyCertSign,cRLSign"].flatMap((one) => ["-addext", one])
    const named = "req -new -config ca.cnf -key ca.key -subj /O=Agency/CN=middle -out ca.csr".split(" ")
    middle.openssl(...named, ...extensions)
    const own = "ca -config ca.cnf -cert ca.pem -keyfile ca.key -batch -in".split(" ")
    top.openssl(...own, middle.path("ca.csr"), "-out", "middle.pem")
    copyFileSync(top.path("middle.pem"), middle.pem)
    const leaf = middle.issue("leaf", { subject: "/O=Agency/CN=leaf" })
    middle.list("middle.crl")
    top.list("top.crl")
    const text = [top, middle].map(({ pem }) => readFileSync(pem, "utf8")).join("\n")
    writeFileSync(join(folder, "chain.pem"), text)
    const crl = [top.path("top.crl"), middle.path("middle.crl")]
    const file = writeIdentity({
      version: 1,
      authorities: [{ name: "agency", certificates: "chain.pem", crl }],
      rules: [{ authority: "agency", certificate: { subject: "*" } }]
    })
    const ofLeaf = Effect.flatMap(Identity, (identity) => identity.ofCertificate(leaf))
    const ok = Effect.retry(ofLeaf, { times: 3, schedule: Schedule.spaced("1 second") })
    return using(
      file,
      Effect.gen(function* () {
        assert.strictEqual((yield* ok).name, "leaf")
        top.revoke("middle")
        top.list("top.crl")
        const error = yield* Effect.flip(Effect.repeat(ofLeaf, { times: 400, schedule: Schedule.spaced("5 millis") }))
        assert.include(error.message, "of no authority that is trusted here")
      })
    )
  })
})

describe("a token", () => {
  it.live.each(["ES256", "ES384", "RS256", "PS256"] as const)("signed with %s names its caller", (alg) =>
    using(
      writeIdentity(everybody()),
      Effect.gen(function* () {
        yield* fetched
        const { id, name, team } = yield* caller({}, keyOf(alg))
        assert.match(id, /^jwt_[0-9a-f]{24}$/)
        assert.deepStrictEqual([name, team], ["job-1", undefined])
      })
    )
  )

  it.live("names the same caller each time, and another one of another issuer or subject", () =>
    using(
      writeIdentity(
        everybody({
          issuers: [issuer, other].map(({ jwks, url }) => ({ issuer: url, audience: ["x", "gateway"], jwks })),
          rules: [issuer, other].map(({ url }) => ({ issuer: url, claims: { sub: "*" } }))
        })
      ),
      Effect.gen(function* () {
        yield* fetched
        const one = yield* caller()
        const again = yield* caller({ claims: { iat: seconds() - 10 } })
        const foreign = yield* Effect.retry(
          Effect.flatMap(signed({}, stranger, other.url), ofToken),
          Schedule.spaced("5 millis")
        )
        const second = yield* caller({ claims: { sub: "job-2" } })
        assert.strictEqual(again.id, one.id)
        assert.strictEqual(new Set([one, foreign, second].map(({ id }) => id)).size, 3)
      })
    )
  )

  it.live("is refused in words, and with nothing of it repeated", () =>
    using(
      writeIdentity(
        everybody({ issuers: [{ issuer: issuer.url, audience: "gateway", jwks: issuer.jwks, algorithms: ["ES256"] }] })
      ),
      Effect.gen(function* () {
        yield* fetched
        const now = seconds()
        const [head = "", body = ""] = (yield* signed()).split(".")
        const text = (json: object) => Buffer.from(JSON.stringify(json)).toString("base64url")
        // The public key as the secret of an HMAC: what a verifier accepts that lets the token choose.
        const { createHmac } = yield* Effect.promise(() => import("node:crypto"))
        const hmacHead = text({ alg: "HS256", kid: "ES256" })
        const hmac = createHmac("sha256", JSON.stringify(keyOf("ES256").jwk))
          .update(`${hmacHead}.${body}`)
          .digest("base64url")
        const none = new UnsecuredJWT({ sub: "x" })
          .setIssuer(issuer.url)
          .setAudience("gateway")
          .setExpirationTime("5m")
          .encode()
        const tokens: ReadonlyArray<readonly [token: string, why: RegExp]> = [
          [none, /algorithm|cannot be read/],
          [`${none}x`, /algorithm|cannot be read/],
          [`${hmacHead}.${body}.${hmac}`, /algorithm/],
          [`${head}.${body}.${"A".repeat(86)}`, /not signed by its issuer/],
          [
            `${head}.${text({ iss: issuer.url, aud: "gateway", sub: "admin", exp: now + 60 })}.${"A".repeat(86)}`,
            /not signed/
          ],
          [yield* signed({}, keyOf("RS256")), /algorithm/],
          [yield* signed({}, stranger), /not signed by its issuer/],
          [yield* signed({ claims: { aud: "elsewhere" } }), /another audience/],
          [yield* signed({ claims: { aud: undefined } }), /aud/],
          [yield* signed({ claims: { exp: now - 120, iat: now - 200 } }), /expired/],
          [yield* signed({ claims: { exp: undefined } }), /exp/],
          [yield* signed({ claims: { nbf: now + 600 } }), /not valid yet/],
          [yield* signed({ claims: { exp: now + 7200 } }), /longer than 1h/],
          [yield* signed({ claims: { iat: undefined, exp: now + 7200 } }), /longer than 1h/],
          [yield* signed({ claims: { iat: now + 90_000, exp: now + 93_000 } }), /longer than 1h/],
          [yield* signed({ claims: { sub: undefined } }), /sub/],
          [yield* signed({ claims: { sub: "" } }), /sub/],
          [yield* signed({ claims: { iss: undefined } }), /no issuer/],
          [yield* signed({ claims: { iss: other.url } }), /not trusted/],
          [yield* signed({ header: { jku: other.jwks } }), /header jku/],
          [yield* signed({ header: { jwk: stranger.jwk } }, stranger), /header jwk/],
          [yield* signed({ header: { x5u: other.url } }), /header x5u/],
          [yield* signed({ header: { x5c: [] } }), /header x5c/],
          [yield* signed({ header: { crit: ["exp"], exp: 1 } }), /header crit/],
          [yield* signed({ header: { kid: "unknown" } }), /does not publish/],
          [`${"A".repeat(65_536)}.e30.e30`, /more than 16384/]
        ]
        for (const [token, why] of tokens) {
          const error = yield* Effect.flip(ofToken(token))
          assert.strictEqual(error.reason, "unauthenticated", String(why))
          assert.match(error.message, why)
          assert.notInclude(error.message, "job-1")
        }
      })
    )
  )

  it.live("within the skew of clocks is good", () =>
    using(
      writeIdentity(everybody()),
      Effect.gen(function* () {
        yield* fetched
        yield* caller({ claims: { exp: seconds() - 50 } })
        yield* caller({ claims: { nbf: seconds() + 50 } })
        assert.match(yield* whyOf({ claims: { exp: seconds() - 70 } }), /expired/)
      })
    )
  )
})

describe("the rules", () => {
  const rules = [
    { issuer: "", claims: { sub: "system:serviceaccount:atlas:*" }, name: "atlas", team: "atlas", levels: ["il5"] },
    { issuer: "", claims: { "kubernetes.io/namespace": "survey" }, name: "survey", models: ["claude-*"], streams: 3 },
    { issuer: "", claims: { groups: ["gateway-users", "gateway-admins"], ver: "2" }, tags: { via: "groups" } },
    { issuer: "", claims: { "https://agency.gov/role": "reader" }, requestsPerMinute: 9 },
    { issuer: "", claims: { gone: "*" }, team: "gone" }
  ]
  const file = () =>
    writeIdentity(
      everybody({
        issuers: [issuer, other].map(({ jwks, url }) => ({ issuer: url, audience: "gateway", jwks })),
        rules: [{ issuer: other.url, claims: { sub: "*" } }, ...rules.map((rule) => ({ ...rule, issuer: issuer.url }))]
      })
    )
  const given: ReadonlyArray<readonly [claims: Record<string, unknown>, expected: object]> = [
    [
      { sub: "system:serviceaccount:atlas:runner" },
      { name: "atlas", levels: ["il5"], team: { name: "atlas", requestsPerMinute: 7 } }
    ],
    // The shape of Kubernetes' projected service-account tokens.
    [
      {
        sub: "system:serviceaccount:survey:default",
        "kubernetes.io": {
          namespace: "survey",
          pod: { name: "p", uid: "u" },
          serviceaccount: { name: "default", uid: "v" }
        }
      },
      { name: "survey", models: ["claude-*"], streams: 3 }
    ],
    [
      { sub: "p", groups: ["all", "gateway-admins"], ver: 2 },
      { name: "p", tags: { via: "groups" } }
    ],
    [{ sub: "p", "https://agency.gov/role": "reader" }, { requestsPerMinute: 9 }],
    [{ sub: "p\n\u202eq", "https://agency.gov/role": "reader" }, { name: "p??q" }]
  ]

  it.live("give what the first that matches says", () =>
    using(
      file(),
      Effect.gen(function* () {
        yield* fetched
        for (const [claims, expected] of given) {
          const got = yield* caller({ claims })
          for (const [name, value] of Object.entries(expected)) assert.containSubset(got, { [name]: value })
        }
      })
    )
  )

  it.live("refuse whom none is for, and a team that does not exist", () =>
    using(
      file(),
      Effect.gen(function* () {
        yield* fetched
        const others: ReadonlyArray<Record<string, unknown>> = [
          { sub: "system:serviceaccount:other:x" },
          { sub: "x", groups: "gateway-user" },
          { sub: "x", groups: ["gateway-users"] },
          { sub: "x", groups: [["gateway-users"]], ver: 2 },
          { sub: "x", "kubernetes.io": "survey" },
          { sub: "x", gone: null },
          { sub: "x", constructor: { name: "x" } }
        ]
        for (const claims of others) {
          const error = yield* Effect.flip(caller({ claims }))
          assert.deepStrictEqual(
            [error.reason, error.message],
            ["forbidden", "No rule of this gateway is for the subject of this token. Ask the operator for one."]
          )
        }
        const error = yield* Effect.flip(caller({ claims: { gone: "x" } }))
        assert.strictEqual(error.reason, "forbidden")
        assert.match(error.detail ?? "", /teams create gone/)
      })
    )
  )
})

describe("the claims of a token", () => {
  /** Admits whom a claim has this value of. */
  const admitting = (claims: Readonly<Record<string, string>>) =>
    writeIdentity(everybody({ rules: [{ issuer: issuer.url, claims }] }))
  /** Of a token whose payload ends with this text. */
  const saying = (text: string) => {
    const { alg, kid, privateKey } = keyOf("ES256")
    const payload = `{"iss":"${issuer.url}","aud":"gateway","sub":"job-1","exp":${seconds() + 300},${text}}`
    const token = new CompactSign(Buffer.from(payload)).setProtectedHeader({ alg, kid })
    return Effect.flatMap(
      Effect.promise(() => token.sign(privateKey)),
      ofToken
    )
  }

  // The engine takes a name with an escape for one that it has read before behind the same names.
  it.live("have the names that were signed, whatever somebody else's token has said", () =>
    using(
      admitting({ "https://agency.gov/groups": "staff" }),
      Effect.gen(function* () {
        yield* fetched
        const written = "https:\\/\\/agency.gov\\/groups"
        const misread = written.slice(0, "https://agency.gov/groups".length)
        const forged = new UnsecuredJWT({ iss: issuer.url, aud: "gateway", sub: "x", exp: 1, [misread]: 1 }).encode()
        yield* Effect.flip(ofToken(forged))
        assert.strictEqual((yield* saying(`"${written}":"staff"`)).name, "job-1")
      })
    )
  )

  it.live("have the numbers that were signed", () =>
    using(
      admitting({ uid: "9007199254740993" }),
      Effect.gen(function* () {
        yield* fetched
        assert.strictEqual((yield* saying('"uid":9007199254740993')).name, "job-1")
        for (const uid of ["9007199254740992", "9007199254740994"])
          assert.match((yield* Effect.flip(saying(`"uid":${uid}`))).message, /No rule/)
      })
    )
  )
})

describe("the keys of an issuer", () => {
  /** With an issuer whose first key is known here; it answers after so many milliseconds. */
  const rotating = <E>(
    delay: number | undefined,
    check: (
      own: Issuer,
      first: Key,
      next: Key,
      from: (key: Key) => ReturnType<typeof ofToken>
    ) => Effect.Effect<void, E, Identity>
  ) =>
    Effect.gen(function* () {
      const first = yield* Effect.promise(() => makeKey("ES256", "first"))
      const next = yield* Effect.promise(() => makeKey("ES256", "next"))
      const own = yield* Effect.promise(() => startIssuer([first], delay))
      const file = writeIdentity({
        version: 1,
        issuers: [{ issuer: own.url, audience: "gateway", jwks: own.jwks }],
        rules: [{ issuer: own.url, claims: { sub: "*" } }]
      })
      const from = (key: Key) => Effect.flatMap(signed({}, key, own.url), ofToken)
      const known = Effect.retry(from(first), Schedule.spaced("5 millis"))
      yield* using(file, Effect.andThen(known, check(own, first, next, from)))
      yield* Effect.promise(own.stop)
    })

  it.live("stay while it is down, and a new one is asked for once a minute", () =>
    rotating(
      undefined,
      Effect.fnUntraced(function* (own, first, next, from) {
        own.answer(503)
        own.publish([next])
        const errors = yield* Effect.all(
          Array.from({ length: 20 }, () => Effect.flip(from(next))),
          { concurrency: "unbounded" }
        )
        for (const { message } of errors) assert.match(message, /does not publish/)
        assert.isAtMost(own.asked(), 2)
        yield* from(first)
      })
    )
  )

  it.live("are fetched for a new one, also where the request that asked for it is given up", () =>
    rotating(
      50,
      Effect.fnUntraced(function* (own, first, next, from) {
        own.publish([first, next])
        const { now } = performance
        vi.spyOn(performance, "now").mockImplementation(() => now.call(performance) + 61_000)
        assert.isTrue(Option.isNone(yield* Effect.timeoutOption(from(next), "20 millis")))
        yield* from(next)
        assert.strictEqual(own.asked(), 2)
        vi.restoreAllMocks()
      })
    )
  )

  it.live("that is down from the start is 503, and does not hold up the start; redirects are not followed", () =>
    Effect.gen(function* () {
      const own = yield* Effect.promise(() => startIssuer([]))
      own.answer(302)
      const file = writeIdentity({
        version: 1,
        issuers: [{ issuer: own.url, audience: "gateway", jwks: own.jwks }],
        rules: [{ issuer: own.url, claims: { sub: "*" } }]
      })
      const error = yield* using(file, Effect.flip(Effect.flatMap(signed({}, stranger, own.url), ofToken)))
      assert.deepStrictEqual([error.reason, error.retryAfter], ["overloaded", 5])
      assert.isAtMost(own.asked(), 1)
      yield* Effect.promise(own.stop)
      for (const [status, why] of [
        [200, "JSON Web Key Set malformed"],
        [404, "(404 GET"]
      ] as const) {
        const odd = createServer((_, response) => response.writeHead(status).end("{}")).listen(0, "127.0.0.1")
        yield* Effect.promise(() => once(odd, "listening"))
        const url = `http://127.0.0.1:${Object(odd.address()).port}/keys`
        assert.include((yield* Effect.flip(fetchKeys(url))).message, `the keys at ${url} cannot be fetched: `)
        assert.include((yield* Effect.flip(fetchKeys(url))).message, why)
        odd.close()
      }
      assert.include((yield* Effect.flip(fetchKeys(own.jwks))).message, "ECONNREFUSED")
    })
  )

  it.live("that sends without end is not listened to for long", () =>
    Effect.gen(function* () {
      let sent = 0
      const endless = createServer((_, response) => {
        const piece = Buffer.alloc(64 * 1024, " ")
        const send = () => {
          while (response.write(piece)) sent += piece.length
          response.once("drain", send)
        }
        send()
      }).listen(0, "127.0.0.1")
      yield* Effect.promise(() => once(endless, "listening"))
      const error = yield* Effect.flip(fetchKeys(`http://127.0.0.1:${Object(endless.address()).port}/keys`))
      assert.match(error.message, /cannot be fetched: they have more than 1 MiB$/)
      assert.isAtMost(sent, 32 * 1024 * 1024)
      endless.close()
      endless.closeAllConnections()
    })
  )

  it.live.each([
    ["none", undefined],
    ["one", "same"]
  ])("may be several of a kind where tokens name %s, and all others are refused", ([, kid]) =>
    Effect.gen(function* () {
      const keys = yield* Effect.promise(() => Promise.all(["a", "b", "c"].map((name) => makeKey("ES256", name))))
      const named = keys.map((key) => ({ ...key, jwk: { ...key.jwk, kid } }))
      writeFileSync(join(folder, "several.json"), JSON.stringify({ keys: named.slice(0, 2).map(({ jwk }) => jwk) }))
      const issuers = [{ issuer: issuer.url, audience: "gateway", jwks: "several.json" }]
      const [one, two, foreign] = named
      if (one === undefined || two === undefined || foreign === undefined) return assert.fail()
      const header = kid === undefined ? {} : { kid }
      const of = ({ alg, privateKey }: Pick<Key, "alg" | "privateKey">, claims: object) =>
        Effect.flatMap(
          Effect.promise(() =>
            new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader({ alg, ...header }).sign(privateKey)
          ),
          ofToken
        )
      const claims = { iss: issuer.url, aud: "gateway", sub: "job-1", exp: seconds() + 300 }
      yield* using(
        writeIdentity(everybody({ issuers })),
        Effect.gen(function* () {
          for (const key of [one, two]) assert.strictEqual((yield* of(key, claims)).name, "job-1")
          assert.match((yield* Effect.flip(of(two, { ...claims, exp: 1 }))).message, /has expired/)
          assert.match((yield* Effect.flip(of(foreign, claims))).message, /not signed by its issuer/)
        })
      )
    })
  )

  it.live("are tried up to sixteen for one token, because strangers decide how often", () =>
    Effect.gen(function* () {
      const keys = yield* Effect.promise(() => Promise.all(Array.from({ length: 17 }, () => makeKey("ES256", "same"))))
      writeFileSync(join(folder, "many.json"), JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }))
      const issuers = [{ issuer: issuer.url, audience: "gateway", jwks: "many.json" }]
      yield* using(
        writeIdentity(everybody({ issuers })),
        Effect.gen(function* () {
          assert.strictEqual((yield* caller({}, keys[15])).name, "job-1")
          assert.match(yield* whyOf({}, keys[16]), /not signed by its issuer/)
        })
      )
    })
  )

  it.live("may stand in a file beside the identity file", () =>
    Effect.gen(function* () {
      writeFileSync(join(folder, "jwks.json"), JSON.stringify({ keys: [keyOf("ES256").jwk] }))
      const file = writeIdentity(
        everybody({ issuers: [{ issuer: issuer.url, audience: "gateway", jwks: "jwks.json" }] })
      )
      assert.strictEqual((yield* using(file, caller())).name, "job-1")
    })
  )
})

describe("the identity file", () => {
  it.effect("is refused where others may write it, or a file that it names", () =>
    Effect.gen(function* () {
      const owned = (name: string) => writeIdentity("", join(folder, name))
      const [jwks, certificates, crl] = [owned("own.json"), owned("own.pem"), owned("own.crl")]
      const authorities = [{ name: "pki", certificates: "own.pem", crl: ["own.crl"] }]
      const file = writeIdentity(
        everybody({ authorities, issuers: [{ issuer: issuer.url, audience: "gateway", jwks: "own.json" }] })
      )
      yield* readIdentity(file)
      for (const open of [file, jwks, certificates, crl]) {
        chmodSync(open, 0o664)
        const { message } = yield* Effect.flip(readIdentity(file))
        assert.include(message, `${open} may be written by others than its owner (mode 0664)`)
        chmodSync(open, 0o644)
      }
    })
  )

  it.effect("has changed when something moved from one of its files to the next", () =>
    Effect.gen(function* () {
      const authorities = ["one", "two"].map((name) => ({ name, certificates: `${name}.pem` }))
      const file = writeIdentity(everybody({ authorities }))
      const digestsOf = Effect.fnUntraced(function* (one: string, two: string) {
        writeFileSync(join(folder, "one.pem"), one)
        writeFileSync(join(folder, "two.pem"), two)
        return [...(yield* readIdentity(file)).digests.values()]
      })
      assert.notDeepEqual(
        yield* digestsOf("first\nsecond\n", "third\n"),
        yield* digestsOf("first\n", "second\nthird\n")
      )
    })
  )

  it("holds up nobody while a long revocation list is looked at", async () => {
    writeFileSync(join(folder, "long.crl"), Buffer.alloc(60 * 1024 ** 2))
    writeFileSync(join(folder, "long.pem"), "")
    const authorities = [{ name: "pki", certificates: "long.pem", crl: "long.crl" }]
    const file = writeIdentity(everybody({ authorities }))
    await assertShortTurns(20, () => Effect.runPromise(readIdentity(file)))
  })

  it.live("is read again, ends streams whose rule is gone, and is refused whole when it is broken", () =>
    Effect.gen(function* () {
      const file = writeIdentity(everybody())
      yield* using(
        file,
        Effect.gen(function* () {
          const identity = yield* Identity
          yield* fetched
          const one = yield* caller()
          const two = yield* caller({ claims: { sub: "job-2" } })
          const end = (of: CallerIdentity) => called<void>((listener) => identity.onEnd(of, listener))
          const stream = yield* Effect.forkChild(end(one), { startImmediately: true })
          const kept = yield* Effect.forkChild(end(two), { startImmediately: true })
          writeIdentity("{", file)
          yield* Effect.sleep("100 millis")
          yield* caller()
          assert.isTrue(lines.some((line) => line.includes("stay") && line.includes(file)))
          writeIdentity(everybody({ rules: [{ issuer: issuer.url, claims: { sub: "job-2" } }] }), file)
          yield* Effect.timeout(Fiber.join(stream), "2 seconds")
          assert.isUndefined(kept.pollUnsafe())
          // One that begins later, of a request that came before.
          yield* Effect.sleep("50 millis")
          yield* Effect.timeout(end(one), "2 seconds")
          assert.match(yield* whyOf(), /No rule/)
          yield* caller({ claims: { sub: "job-2" } })
        })
      )
    })
  )

  const wrong: ReadonlyArray<readonly [what: string, content: () => unknown, why: RegExp]> = [
    ["no JSON", () => "\n[ ", /not an identity file: not JSON: it ends too soon, at line 2, column 3/],
    [
      "a restriction twice",
      () => `{"rules":[{"levels":["il2"],"levels":["il5"]}]}`,
      /not an identity file: rules\[0\]\.levels: stands twice, at line 1, column/
    ],
    ["a misspelt field", () => ({ ...everybody(), rule: [] }), /rule/],
    [
      "a misspelt restriction",
      () => everybody({ rules: [{ issuer: issuer.url, claims: { sub: "*" }, level: ["il5"] }] }),
      /level/
    ],
    ["no condition", () => everybody({ rules: [{ issuer: issuer.url, claims: {} }] }), /at least one condition/],
    ["a star inside", () => everybody({ rules: [{ issuer: issuer.url, claims: { sub: "a*b" } }] }), /start of values/],
    [
      "a rule of no issuer",
      () => everybody({ rules: [{ issuer: "x", claims: { sub: "*" } }] }),
      /issuers does not name/
    ],
    [
      "a rule of no authority",
      () => everybody({ rules: [{ authority: "x", certificate: { upn: "*" } }] }),
      /authorities does not name/
    ],
    ["two issuers", () => everybody({ issuers: [1, 2].map(() => everybody().issuers[0]) }), /same name/],
    ["HS256", () => everybody({ issuers: [{ ...everybody().issuers[0], algorithms: ["HS256"] }] }), /ES256/],
    ["a year", () => everybody({ issuers: [{ ...everybody().issuers[0], maxLifetime: "365 days" }] }), /at most/],
    [
      "no lifetime",
      () => everybody({ issuers: [{ ...everybody().issuers[0], maxLifetime: "0 seconds" }] }),
      /at least/
    ],
    [
      "a skew below zero",
      () => everybody({ issuers: [{ ...everybody().issuers[0], clockSkew: "-1 seconds" }] }),
      /below zero/
    ],
    [
      "plain HTTP",
      () => everybody({ issuers: [{ ...everybody().issuers[0], jwks: "http://issuer.example/keys" }] }),
      /https/
    ],
    [
      "a password",
      () => everybody({ issuers: [{ ...everybody().issuers[0], jwks: "https://u:secret@issuer.example/keys" }] }),
      /^(?!.*secret).*must have no credentials/s
    ],
    ["a missing file", () => everybody({ issuers: [{ ...everybody().issuers[0], jwks: "none.json" }] }), /none\.json/],
    [
      "an authority that is none",
      () => everybody({ authorities: [{ name: "a", certificates: "jwks.json" }] }),
      /jwks\.json, which cannot be used: it has no certificate/
    ],
    [
      "a list that another authority has signed",
      () => {
        const [{ pem }, { list, path }] = [
          makeAuthority(mkdtempSync(`${folder}/`), "a"),
          makeAuthority(mkdtempSync(`${folder}/`), "b")
        ]
        list("b.crl")
        return everybody({ authorities: [{ name: "a", certificates: pem, crl: path("b.crl") }] })
      },
      /b\.crl, which cannot be used: a list is signed by none/
    ]
  ]
  it.live.each(wrong)("with %s fails the start", ([, content, why]) =>
    Effect.gen(function* () {
      writeFileSync(join(folder, "jwks.json"), "{}")
      const error = yield* Effect.flip(using(writeIdentity(content()), Identity))
      assert.match(error.message, why)
    })
  )
})

describe("the document", () => {
  const text = readFileSync(join(root, "docs/identity.md"), "utf8")
  const examples = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = ""]) => text)

  it.effect("shows identity files that are taken", () =>
    Effect.gen(function* () {
      assert.lengthOf(examples, 4)
      for (const text of examples) yield* parseIdentity("docs/identity.md", text)
    })
  )

  it("names every field", () => {
    const fields = [IssuerFields, Authority, TokenRule].flatMap((schema) => Object.keys(schema.fields))
    for (const field of fields) assert.include(text, `\`${field}\``)
  })
})
