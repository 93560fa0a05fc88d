/** The clouds' providers as Layers, picked at run time by the cloud that a route names. */
import { Duration, LayerMap } from "effect"
import { azure } from "./azure.ts"
import { bedrock } from "./bedrock.ts"
import { vertex } from "./vertex.ts"

/** A layer is built when its cloud is first asked for, and lives as long as the server: streams outlast handlers. */
export class Providers extends LayerMap.Service<Providers>()("gateway/cloud/Providers", {
  layers: { vertex, bedrock, azure },
  idleTimeToLive: Duration.infinity
}) {}
