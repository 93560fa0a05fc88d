/** The whole contract: which endpoint takes and answers what. Importing it pulls in no server code. */
import { HttpApi, OpenApi } from "effect/http-api"
import { ChatGroup } from "./ChatGroup.ts"
import { completeDocument } from "./document.ts"
import { EmbeddingsGroup } from "./Embeddings.ts"
import { type Endpoint, endpointsOf, pathsOf } from "./facts.ts"
import { MessagesGroup } from "./MessagesGroup.ts"
import { ResponsesGroup } from "./ResponsesGroup.ts"
import { HealthGroup, ModelsGroup } from "./System.ts"
import { usageNotice } from "./usageNotice.ts"
import { version } from "./version.ts"

export class Api extends HttpApi.make("gateway")
  .add(ChatGroup, MessagesGroup, ResponsesGroup, EmbeddingsGroup, ModelsGroup, HealthGroup)
  .annotateMerge(
    OpenApi.annotations({
      title: "Government Model Gateway",
      version,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      servers: [{ url: "/", description: "The gateway that serves this document" }],
      transform: completeDocument(() => endpoints),
      description: `One address for hosted language models on government-authorized clouds. Name a model as \`<base_model>:<level>\`; the level decides which cloud serves the request.\n\n> **Usage notice.** ${usageNotice}`
    })
  ) {}

export const endpoints: ReadonlyMap<string, Endpoint> = endpointsOf(Api)
/** Where each purpose is served: named to a caller at the wrong endpoint. */
export const purposePaths = pathsOf(endpoints)
