/** The location and the credentials of the clouds, made anew at each start. */
import { randomBytes } from "node:crypto"

const secret = (prefix: string): string => prefix + randomBytes(24).toString("hex")

export const newAccess = () => ({
  project: "sandbox-project",
  location: "us-east5",
  vertexBearer: secret("ya29.sandbox-"),
  region: "us-gov-west-1",
  accessKeyId: `AKIA${randomBytes(8).toString("hex").toUpperCase()}`,
  secretAccessKey: secret(""),
  bedrockBearer: secret("bedrock-api-key-"),
  azureKey: secret(""),
  azureBearer: secret("eyJ")
})
export type Access = ReturnType<typeof newAccess>
