/** TLS as it is spoken in both directions: 1.2 with ECDHE and AES-GCM, and 1.3; P-256 and P-384 only (docs/fips.md#tls). */
import tls from "node:tls"

export const tlsPolicy = {
  minVersion: "TLSv1.2",
  ciphers: [
    "TLS_AES_256_GCM_SHA384",
    "TLS_AES_128_GCM_SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256"
  ].join(":"),
  ecdhCurve: "P-256:P-384",
  sigalgs: [
    ...["ecdsa_secp256r1_sha256", "ecdsa_secp384r1_sha384"],
    ...["rsa_pss_rsae", "rsa_pss_pss", "rsa_pkcs1"].flatMap((scheme) =>
      [256, 384, 512].map((bits) => `${scheme}_sha${bits}`)
    )
  ].join(":")
} as const

/** The same for connections of `fetch` and of the credential libraries, but for signatures, of which Node has no default. */
export const applyTlsPolicy = (): void => {
  tls.DEFAULT_MIN_VERSION = tlsPolicy.minVersion
  tls.DEFAULT_CIPHERS = tlsPolicy.ciphers
  tls.DEFAULT_ECDH_CURVE = tlsPolicy.ecdhCurve
}
