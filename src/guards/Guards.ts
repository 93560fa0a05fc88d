/** The guards that hold for a request. There only where the operator has some: without it nothing is loaded. */
import { Context } from "effect"
import type { About, Guard } from "./Guard.ts"

export class Guards extends Context.Service<
  Guards,
  {
    /** In order. A request sees one list from end to end. */
    readonly of: (about: Pick<About, "caller" | "level" | "surface">) => ReadonlyArray<Guard>
  }
>()("gateway/guards/Guards") {}
