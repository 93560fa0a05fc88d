/**
 * Azure OpenAI: chat completions and responses through the v1 routes (docs/upstreams.md#azure-openai), with its credentials: a key,
 * or Entra ID.
 */
import { X509Certificate } from "node:crypto"
import type { INetworkModule, NodeAuthOptions } from "@azure/msal-node"
import { Effect, Layer, Option, Redacted, type Scope } from "effect"
import { readRegularText } from "../regularFile.ts"
import { Clouds } from "../Settings.ts"
import type { AzureSettings } from "../settings/clouds.ts"
import { sse } from "../stream/sse.ts"
import type { Cloud } from "./Cloud.ts"
import {
  bearer,
  type Credential,
  CredentialError,
  credentialError,
  fixedHeaders,
  makeTokenCache,
  sameHeaders
} from "./credentials.ts"
import { makeScrub } from "./fault.ts"
import { makeProvider } from "./makeProvider.ts"
import { Provider } from "./Provider.ts"

interface AzureOptions {
  /** The resource (`https://<name>.openai.azure.us`); its domain decides authority and scope. */
  readonly endpoint: URL
  /** `AZURE_OPENAI_API_KEY`; it goes before every other credential. */
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** `AZURE_TENANT_ID`. */
  readonly tenantId?: string | undefined
  /** `AZURE_CLIENT_ID`; without another credential, that of the user-assigned managed identity. */
  readonly clientId?: string | undefined
  /** `AZURE_CLIENT_SECRET`. */
  readonly clientSecret?: Redacted.Redacted<string> | undefined
  /** `AZURE_CLIENT_CERTIFICATE_PATH`: a PEM file with the certificate and its unencrypted private key. */
  readonly clientCertificatePath?: string | undefined
  /** `AZURE_FEDERATED_TOKEN_FILE`, which a Kubernetes cluster mounts and keeps fresh (workload identity). */
  readonly federatedTokenFile?: string | undefined
  /** `AZURE_AUTHORITY_HOST`; default the authority of the endpoint's cloud. */
  readonly authorityHost?: string | undefined
  /** Reaches the authority; default the library's own client. */
  readonly network?: INetworkModule | undefined
}

/**
 * The `api-key` header, or `Authorization: Bearer` with a token of Entra ID. The first that is configured counts, in
 * the order of Azure's own default chain: client secret, client certificate, workload identity, managed identity.
 * Files are read again for every token, so that rotated ones are picked up.
 */
export const azureCredential = (options: AzureOptions): Effect.Effect<Credential, CredentialError, Scope.Scope> => {
  const { apiKey } = options
  return apiKey === undefined ? entra(options) : Effect.succeed(fixedHeaders({ "api-key": Redacted.value(apiKey) }))
}

const entra = Effect.fnUntraced(function* (options: AzureOptions) {
  const { authority, scope } = azureCloud(options)
  const client = yield* clientCredential(options)
  const failed = credentialError(
    `Entra ID (${client?.name ?? "managed identity"})`,
    "check the identity and the AZURE_ variables of docs/operation.md, or set AZURE_OPENAI_API_KEY"
  )
  const attempt = <A>(promise: () => Promise<A>) => Effect.tryPromise({ try: promise, catch: failed })
  const msal = yield* attempt(() => import("@azure/msal-node"))
  const system = options.network === undefined ? {} : { networkClient: options.network }
  const { clientId } = options

  const managedIdentity = attempt(() =>
    new msal.ManagedIdentityApplication({
      ...(clientId === undefined ? {} : { managedIdentityIdParams: { userAssignedClientId: clientId } }),
      system
    }).acquireToken({ resource: scope, forceRefresh: true })
  )

  const confidential = (client: ClientCredential) =>
    Effect.flatMap(Effect.mapError(client.read, failed), (proof) =>
      attempt(() =>
        new msal.ConfidentialClientApplication({
          auth: {
            ...proof,
            clientId: client.clientId,
            authority: `${authority}/${client.tenantId}`,
            knownAuthorities: [new URL(authority).host] // or it would ask the public cloud whether this host is Azure's
          },
          system
        }).acquireTokenByClientCredential({ scopes: [scope] })
      )
    )

  // Neither is answered by the library's own cache, which belongs to an application and is skipped for identities.
  const cache = yield* makeTokenCache(
    Effect.flatMap(client === undefined ? managedIdentity : confidential(client), (result) =>
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

/** Where the endpoint's cloud issues tokens, and for what. */
export const azureCloud = ({ endpoint, authorityHost }: AzureOptions): { authority: string; scope: string } => {
  const government = endpoint.hostname.endsWith(".azure.us")
  const authority = authorityHost ?? `https://login.microsoftonline.${government ? "us" : "com"}`
  return {
    authority: authority.replace(/\/+$/, ""),
    scope: `https://cognitiveservices.azure.${government ? "us" : "com"}/.default`
  }
}

interface ClientCredential {
  readonly name: string
  readonly tenantId: string
  readonly clientId: string
  readonly read: Effect.Effect<Pick<NodeAuthOptions, "clientSecret" | "clientCertificate" | "clientAssertion">, unknown>
}

/** How the application proves itself; `undefined` for a managed identity, where the platform does it. */
const clientCredential = (options: AzureOptions): Effect.Effect<ClientCredential | undefined, CredentialError> => {
  const proof = clientProof(options)
  if (proof === undefined) return Effect.succeed(undefined)
  const { tenantId, clientId } = options
  return tenantId === undefined || clientId === undefined
    ? Effect.fail(
        new CredentialError({ message: `Entra ID (${proof.name}) needs AZURE_TENANT_ID and AZURE_CLIENT_ID` })
      )
    : Effect.succeed({ ...proof, tenantId, clientId })
}

const clientProof = ({
  clientSecret,
  clientCertificatePath,
  federatedTokenFile
}: AzureOptions): Pick<ClientCredential, "name" | "read"> | undefined => {
  if (clientSecret !== undefined) {
    return { name: "client secret", read: Effect.sync(() => ({ clientSecret: Redacted.value(clientSecret) })) }
  }
  if (clientCertificatePath !== undefined) {
    return {
      name: "client certificate",
      read: Effect.flatMap(readRegularText(clientCertificatePath), readCertificate)
    }
  }
  if (federatedTokenFile !== undefined) {
    return {
      name: "workload identity",
      read: Effect.map(readRegularText(federatedTokenFile), (text) => ({ clientAssertion: text.trim() }))
    }
  }
  return undefined
}

const readCertificate = (pem: string) =>
  Effect.try({
    try: () => ({
      clientCertificate: {
        thumbprintSha256: new X509Certificate(pem).fingerprint256.replaceAll(":", ""),
        privateKey: /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[^-]+-----END \1PRIVATE KEY-----/.exec(pem)?.[0] ?? ""
      }
    }),
    catch: (cause) => cause
  })

/** What is configured, or a managed identity. */
export const credentialOf = (settings: AzureSettings) =>
  azureCredential({
    endpoint: new URL(settings.endpoint),
    apiKey: Option.getOrUndefined(settings.apiKey),
    tenantId: Option.getOrUndefined(settings.tenantId),
    clientId: Option.getOrUndefined(settings.clientId),
    clientSecret: Option.getOrUndefined(settings.clientSecret),
    clientCertificatePath: Option.getOrUndefined(settings.clientCertificatePath),
    federatedTokenFile: Option.getOrUndefined(settings.federatedTokenFile),
    authorityHost: Option.getOrUndefined(settings.authorityHost)
  })

export const azure = Layer.effect(
  Provider,
  Effect.gen(function* () {
    const settings = yield* Effect.flatMap(Clouds, ({ azure }) => Effect.fromOption(azure))
    const { hostname } = new URL(settings.endpoint)
    const cloud: Cloud = {
      name: "azure",
      endpoint: {
        baseUrl: settings.endpoint,
        regions: () => [settings.region],
        host: () => settings.endpoint,
        path: ({ operation }) => `/openai/v1/${operation === "responses" ? "responses" : "chat/completions"}`,
        message: ({ route }, body) => ({ body: { ...body, model: route.deployment.model } })
      },
      auth: yield* credentialOf(settings),
      framing: () => ({ contentType: "text/event-stream", decoder: sse }),
      scrub: ({ deployment, model }) =>
        makeScrub([
          [hostname, "the upstream"],
          [deployment.model, model.id]
        ])
    }
    return yield* makeProvider(cloud)
  })
)
