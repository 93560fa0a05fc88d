/** The clouds, and what differs between them where nothing is translated: names, and the settings that say where they are. */
import { Record, Schema } from "effect"
import type { Api } from "./names.ts"

/** The clouds a deployment can be on: docs/decisions.md#vendors-and-clouds says what they are. */
export const Cloud = Schema.Literals(["vertex", "bedrock", "azure"])
export type Cloud = typeof Cloud.Type
export const clouds: ReadonlyArray<Cloud> = Cloud.literals

/** A cloud as replies and records name it: a simulated one is never named like a real one. */
export const ServedCloud = Schema.Literals([
  ...Cloud.literals,
  ...Cloud.literals.map((cloud) => `sandbox-${cloud}` as const)
])
export type ServedCloud = typeof ServedCloud.Type

interface CloudFacts {
  readonly title: string
  /** `gen_ai.provider.name` of the OpenTelemetry GenAI conventions. */
  readonly provider: string
  /** The APIs by which it serves models. */
  readonly apis: ReadonlyArray<Api>
  /** Whether it serves the responses surface, for deployments that say so. */
  readonly servesResponses?: true
  /** The setting that activates it, and an example of it. */
  readonly setting: readonly [name: string, example: string]
  /** How the names of its settings begin, and of those that its vendor's own tools read too. */
  readonly prefix: string
  readonly vendorPrefix?: string | undefined
  /** Domains of its hosts and accounts, which error messages do not show. */
  readonly domains: ReadonlyArray<string>
  /** What its places are called, and one that may serve the most. */
  readonly place: string
  readonly bestPlace: string
  /** Whether a place is the endpoint's host. */
  readonly hostIsPlace?: true
  /** The setting of an address of the operator's own. */
  readonly address: string
}

export const cloudFacts: Readonly<Record<Cloud, CloudFacts>> = {
  vertex: {
    title: "Google Vertex AI",
    provider: "gcp.vertex_ai",
    apis: ["messages", "content"],
    setting: ["VERTEX_PROJECT", "p"],
    prefix: "VERTEX_",
    domains: ["googleapis.com", "gserviceaccount.com"],
    place: "Vertex location",
    bestPlace: "us-east5",
    address: "VERTEX_BASE_URL"
  },
  bedrock: {
    title: "Amazon Bedrock",
    provider: "aws.bedrock",
    apis: ["messages", "chat", "responses", "embeddings"],
    setting: ["BEDROCK_REGION", "us-gov-west-1"],
    prefix: "BEDROCK_",
    vendorPrefix: "AWS_",
    domains: ["amazonaws.com", "api.aws"],
    place: "Bedrock region",
    bestPlace: "us-gov-west-1",
    address: "BEDROCK_BASE_URL"
  },
  azure: {
    title: "Azure OpenAI",
    provider: "azure.ai.openai",
    apis: ["chat", "responses"],
    servesResponses: true,
    setting: ["AZURE_OPENAI_ENDPOINT", "https://p.openai.azure.us"],
    prefix: "AZURE_",
    domains: ["azure.com", "azure.us"],
    place: "Azure endpoint",
    bestPlace: "resource.openai.azure.us",
    hostIsPlace: true,
    address: "AZURE_OPENAI_ENDPOINT"
  }
}

const settings = clouds.map((cloud) => cloudFacts[cloud].setting[0])
/** `A, B or C`: the settings of which one configures a cloud. */
export const cloudSettings = `${settings.slice(0, -1).join(", ")} or ${settings.at(-1)}`

const facts = Object.values(cloudFacts)
/** Whether a variable is named like a setting of a cloud's. */
export const isCloudSetting = (name: string): boolean => facts.some(({ prefix }) => name.startsWith(prefix))
/** Whether a variable may configure a cloud, also by its vendor's own tools. */
export const configuresCloud = (name: string): boolean =>
  isCloudSetting(name) || facts.some(({ vendorPrefix }) => vendorPrefix !== undefined && name.startsWith(vendorPrefix))

/** A struct with one field for each cloud. */
export const fieldsByCloud = <S extends Schema.Top>(schema: S) => Record.map(cloudFacts, () => schema)
