/**
 * Azure OpenAI: chat completions and responses through the v1 routes (docs/upstreams.md#azure-openai), with its credentials: a key,
 * or Entra ID.
 */
import { X509Certificate } from "node:crypto"
import type { INetworkModule, NodeAuthOptions } from "@azure/msal-node"
import { Effect, Option, Redacted } from "effect"
import type { AzureSettings } from "../settings/clouds.ts"
import { hostOf } from "../settings/fields.ts"
import { sse } from "../stream/framing.ts"
import {
  type Auth,
  bearer,
  CredentialError,
  credentialError,
  fixedHeaders,
  makeTokenCache,
  readNamed,
  sameHeaders
} from "./credentials.ts"
import type { Cloud } from "./Provider.ts"

type Credentials = Omit<AzureSettings, "boundary" | "region">

/**
 * The `api-key` header, or `Authorization: Bearer` with a token of Entra ID. The first that is configured counts, in
 * the order of Azure's own default chain: client secret, client certificate, workload identity, managed identity.
 * Files are read again for every token, so that rotated ones are picked up.
 */
export const credentialOf = (
  settings: Credentials,
  /** Reaches the authority; the library's own client where it is undefined. */
  network?: INetworkModule
): Auth =>
  Option.isSome(settings.apiKey)
    ? Effect.succeed(fixedHeaders({ "api-key": Redacted.value(settings.apiKey.value) }))
    : entra(settings, network)

const entra = Effect.fnUntraced(function* (settings: Credentials, network: INetworkModule | undefined) {
  const { authority, scope } = azureCloud(settings)
  const { clientId, tenantId } = settings
  const proof = Option.getOrUndefined(proofOf(settings))
  const source = `Entra ID (${proofName(settings)})`
  const failed = credentialError(
    source,
    "check the identity and the AZURE_ variables of docs/operation.md, or set AZURE_OPENAI_API_KEY"
  )
  const attempt = <A>(promise: () => Promise<A>) => Effect.tryPromise({ try: promise, catch: failed })
  const msal = yield* attempt(() => import("@azure/msal-node"))
  const system = network === undefined ? {} : { networkClient: network }

  const managedIdentity = attempt(() =>
    new msal.ManagedIdentityApplication({
      ...(Option.isNone(clientId) ? {} : { managedIdentityIdParams: { userAssignedClientId: clientId.value } }),
      system
    }).acquireToken({ resource: scope, forceRefresh: true })
  )

  const confidential = ({ read }: ClientProof, tenantId: string, clientId: string) =>
    Effect.flatMap(read, (proved) =>
      attempt(() =>
        new msal.ConfidentialClientApplication({
          auth: {
            ...proved,
            clientId,
            authority: `${authority}/${tenantId}`,
            knownAuthorities: [new URL(authority).host] // or it would ask the public cloud whether this host is Azure's
          },
          system
        }).acquireTokenByClientCredential({ scopes: [scope] })
      )
    )

  const acquire =
    proof === undefined
      ? managedIdentity
      : Option.isNone(tenantId) || Option.isNone(clientId)
        ? yield* new CredentialError({ message: `${source} needs AZURE_TENANT_ID and AZURE_CLIENT_ID` })
        : confidential(proof, tenantId.value, clientId.value)
  // Neither is answered by the library's own cache, which belongs to an application and is skipped for identities.
  const cache = yield* makeTokenCache(
    Effect.flatMap(acquire, (result) =>
      result === null || result.accessToken === "" || result.expiresOn === null
        ? Effect.fail(failed(undefined))
        : Effect.succeed({
            token: Redacted.make(result.accessToken, { label: "azure-access-token" }),
            expiresAt: result.expiresOn.getTime()
          })
    )
  )
  return { headers: sameHeaders(Effect.map(cache.get, bearer)), refresh: cache.refresh }
})

/**
 * Where tokens are issued, and for what: as the endpoint is named where it is Azure's own, else as the authority is. A private address
 * is in the government's cloud.
 */
export const azureCloud = ({ endpoint, authorityHost }: Pick<Credentials, "endpoint" | "authorityHost">) => {
  const named = [endpoint, ...Option.toArray(authorityHost)].flatMap(
    (url) => /\.(?:azure|microsoftonline)\.(us|com)$/.exec(hostOf(url))?.[1] ?? []
  )
  const domain = named[0] ?? "us"
  const authority = Option.getOrElse(authorityHost, () => `https://login.microsoftonline.${domain}`)
  return {
    authority: authority.replace(/\/+$/, ""),
    scope: `https://cognitiveservices.azure.${domain}/.default`
  }
}

interface ClientProof {
  readonly name: string
  readonly read: Effect.Effect<
    Pick<NodeAuthOptions, "clientSecret" | "clientCertificate" | "clientAssertion">,
    CredentialError
  >
}

/** How the application proves itself; none for a managed identity, where the platform does it. */
const proofOf = ({ clientCertificatePath, clientSecret, federatedTokenFile }: Credentials) =>
  Option.firstSomeOf<ClientProof>([
    Option.map(clientSecret, (secret) => ({
      name: "client secret",
      read: Effect.sync(() => ({ clientSecret: Redacted.value(secret) }))
    })),
    Option.map(clientCertificatePath, (path) => ({
      name: "client certificate",
      read: Effect.flatMap(readNamed("AZURE_CLIENT_CERTIFICATE_PATH", path), (pem) => readCertificate(path, pem))
    })),
    Option.map(federatedTokenFile, (path) => ({
      name: "workload identity",
      read: Effect.map(readNamed("AZURE_FEDERATED_TOKEN_FILE", path), (text) => ({ clientAssertion: text.trim() }))
    }))
  ])

const proofName = (settings: Credentials): string =>
  Option.match(proofOf(settings), { onNone: () => "managed identity", onSome: ({ name }) => name })

const readCertificate = (path: string, pem: string) =>
  Effect.try({
    try: () => {
      const privateKey = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[^-]+-----END \1PRIVATE KEY-----/.exec(pem)?.[0]
      if (privateKey === undefined) throw new Error("no key")
      const thumbprintSha256 = new X509Certificate(pem).fingerprint256.replaceAll(":", "")
      return { clientCertificate: { thumbprintSha256, privateKey } }
    },
    catch: () =>
      new CredentialError({
        message: `AZURE_CLIENT_CERTIFICATE_PATH: ${path} must be a PEM file with a certificate and its private key`
      })
  })

export const azure = (settings: AzureSettings): Cloud => ({
  name: "azure",
  endpoint: {
    baseUrl: settings.endpoint,
    regions: () => [settings.region],
    host: () => settings.endpoint,
    path: ({ operation }) => `/openai/v1/${operation === "responses" ? "responses" : "chat/completions"}`,
    message: ({ route }, body) => ({ body: { ...body, model: route.deployment.model } })
  },
  region: settings.region,
  credential: Option.isSome(settings.apiKey) ? "AZURE_OPENAI_API_KEY" : `Entra ID, ${proofName(settings)}`,
  certificate: settings.clientCertificatePath,
  auth: credentialOf(settings),
  framing: () => ({ contentType: "text/event-stream", decoder: sse })
})
