/** An authority of client certificates, made by OpenSSL in a folder of the test's own. */
import { execFileSync } from "node:child_process"
import { X509Certificate } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const config = `[ca]
default_ca = own
[own]
dir = .
database = index.txt
serial = serial
crlnumber = crlnumber
new_certs_dir = .
default_md = sha256
default_days = 10
default_crl_days = 5
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = optional
organizationName = optional
[req]
distinguished_name = name
[name]
`

export interface LeafOptions {
  /** `/O=Agency/CN=…` */
  readonly subject: string
  /** As OpenSSL writes them: `URI:spiffe://…,DNS:…`. */
  readonly names?: string
  /** `clientAuth` unless set; empty: any. */
  readonly usage?: string
  readonly days?: { readonly from: string; readonly to: string }
  readonly digest?: string
  /** More options of how it is signed. */
  readonly signing?: ReadonlyArray<string>
}

const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

/** A folder holds one authority; files are named after what they are. `extension`: of its own certificate; `key`: its own. */
export const makeAuthority = (
  folder: string,
  name: string,
  extension = "keyUsage=critical,keyCertSign,cRLSign",
  key: ReadonlyArray<string> = curve
) => {
  const path = (file: string) => join(folder, file)
  const openssl = (...args: ReadonlyArray<string>) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" })
  for (const [file, text] of [
    ["ca.cnf", config],
    ["index.txt", ""],
    ["serial", "1000"],
    ["crlnumber", "01"]
  ] as const) {
    writeFileSync(path(file), text)
  }
  openssl(
    ...["req", "-x509", ...key, "-days", "30", "-subj", `/O=Agency/CN=${name}`, "-keyout", "ca.key", "-out", "ca.pem"],
    ...["-addext", extension]
  )
  const own = ["-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key"]
  return {
    path,
    pem: path("ca.pem"),
    issue: (
      file: string,
      { days, digest = "sha256", names, signing = [], subject, usage = "clientAuth" }: LeafOptions
    ) => {
      openssl(
        ...[
          "req",
          "-new",
          ...curve,
          "-subj",
          subject,
          "-config",
          "ca.cnf",
          "-keyout",
          `${file}.key`,
          "-out",
          `${file}.csr`
        ],
        ...[
          ...(usage === "" ? [] : ["-addext", `extendedKeyUsage=${usage}`]),
          ...(names === undefined ? [] : ["-addext", `subjectAltName=${names}`])
        ]
      )
      const dates = days === undefined ? [] : ["-startdate", days.from, "-enddate", days.to]
      openssl("ca", ...own, "-batch", "-md", digest, "-in", `${file}.csr`, "-out", `${file}.pem`, ...dates, ...signing)
      return new X509Certificate(readFileSync(path(`${file}.pem`)))
    },
    revoke: (file: string) => openssl("ca", ...own, "-revoke", `${file}.pem`),
    /** Writes the list of what has been revoked so far. */
    list: (file: string, ...more: ReadonlyArray<string>) => {
      openssl("ca", ...own, "-gencrl", "-out", file, ...more)
      return readFileSync(path(file))
    },
    openssl
  }
}
