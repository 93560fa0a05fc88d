/** What calls of one kind have in common: those of a deployment at a level, of one operation, streamed or whole. */
import type { Deployment } from "../model/Catalog.ts"
import type { Level } from "../model/Level.ts"
import type { Operation, Route } from "../model/Route.ts"
import { perObject } from "../wire/perObject.ts"

interface Kind<A> {
  readonly level: Level
  readonly operation: Operation
  readonly stream: boolean
  readonly common: A
}

/** Answers what `make` answers, which is asked once for each kind. There are few: the catalog makes them. */
export const perKind = <A>(make: (route: Route, operation: Operation, stream: boolean) => A) => {
  const kindsOf = perObject((_: Deployment): Array<Kind<A>> => [])
  return (route: Route, operation: Operation, stream: boolean): A => {
    const { deployment, level } = route
    const own = kindsOf(deployment)
    for (const kind of own) {
      if (kind.operation === operation && kind.stream === stream && kind.level === level) return kind.common
    }
    const common = make(route, operation, stream)
    own.push({ level, operation, stream, common })
    return common
  }
}
