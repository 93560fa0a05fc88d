/** The states of all processes that share a store: each posts its own there while a status page is open, and only then. */
import { Effect, Result } from "effect"
import { StatusBoard } from "../../limits/replicas.ts"
import type { ProcessState } from "./processState.ts"

/** How often a process posts its state while a page is open, and how often it otherwise checks whether one is. */
const busy = "2 seconds"
const idle = "4 seconds"

const parse = (text: string): ReadonlyArray<ProcessState> =>
  Result.getOrElse(
    Result.try(() => [JSON.parse(text)]),
    () => []
  )

/** What processes posted; nothing while the store is lost. */
export const makeReplicas = (own: () => ProcessState) =>
  Effect.gen(function* () {
    const board = yield* StatusBoard
    const { instance } = own()
    yield* board
      .post(instance, () => JSON.stringify(own()))
      .pipe(
        Effect.orElseSucceed(() => false),
        Effect.flatMap((open) => Effect.sleep(open ? busy : idle)),
        Effect.forever,
        Effect.forkScoped
      )
    return board.read.pipe(
      Effect.map((texts) => texts.flatMap(parse)),
      Effect.orElseSucceed((): ReadonlyArray<ProcessState> => [])
    )
  })
