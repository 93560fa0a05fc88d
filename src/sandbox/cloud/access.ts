/** What the clouds let in: where they are, and the credentials that they take. */
import { randomBytes } from "node:crypto"

const secret = (prefix: string): string => prefix + randomBytes(24).toString("hex")

/** Places that stay, and credentials that are made anew at each start. */
export const newAccess = () => ({
  project: "sandbox-project",
  location: "us-east5",
  /** An access token for Vertex AI. */
  vertexBearer: secret("ya29.sandbox-"),
  region: "us-gov-west-1",
  accessKeyId: `AKIA${randomBytes(8).toString("hex").toUpperCase()}`,
  secretAccessKey: secret(""),
  /** A Bedrock API key. */
  bedrockBearer: secret("bedrock-api-key-"),
  azureKey: secret(""),
  /** An Entra ID token. */
  azureBearer: secret("eyJ")
})
export type Access = ReturnType<typeof newAccess>
