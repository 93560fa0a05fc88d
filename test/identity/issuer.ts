/** An issuer of tokens on loopback, with keys made for the test. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from "jose"

export type Algorithm = "ES256" | "ES384" | "RS256" | "PS256"

export interface Key {
  readonly alg: Algorithm
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

export const makeKey = async (alg: Algorithm, kid: string): Promise<Key> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } }
}

export interface Issuer {
  readonly url: string
  readonly jwks: string
  /** How often its keys have been asked for. */
  readonly asked: () => number
  readonly publish: (keys: ReadonlyArray<Key>) => void
  /** Answers with this status from now on. */
  readonly answer: (status: number) => void
  readonly stop: () => Promise<void>
}

/** `delay`: milliseconds until it answers. */
export const startIssuer = async (keys: ReadonlyArray<Key>, delay = 0): Promise<Issuer> => {
  let published = keys
  let status = 200
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    setTimeout(() => {
      response.writeHead(status, { "content-type": "application/json", location: "/elsewhere" })
      response.end(JSON.stringify({ keys: published.map(({ jwk }) => jwk) }))
    }, delay)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    jwks: `${url}/keys`,
    asked: () => asked,
    publish: (next) => {
      published = next
    },
    answer: (next) => {
      status = next
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

export const seconds = (): number => Math.floor(Date.now() / 1000)

export interface TokenOptions {
  readonly header?: Partial<JWTHeaderParameters>
  readonly claims?: Readonly<Record<string, unknown>>
}

/** A token for `gateway` that is good for five minutes, unless the options say otherwise; a claim that is undefined is left out. */
export const tokenOf = (issuer: string, key: Key, { claims = {}, header = {} }: TokenOptions = {}): Promise<string> => {
  const now = seconds()
  const payload = { iss: issuer, aud: "gateway", sub: "job-1", iat: now, exp: now + 300, ...claims }
  const given = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined))
  return new SignJWT(given)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
    .sign(key.privateKey, { crit: { exp: true } })
}
