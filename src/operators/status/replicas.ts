/** The states of replicas that share a Redis: each posts its own there while a status page is open, and only then. */
import { Effect, Result } from "effect"
import { SharedStatusBoard } from "../../limits/StatusBoard.ts"
import type { ProcessState } from "./processState.ts"

/** How often a process checks whether a page is open, and how often it then posts its state. */
const idle = "4 seconds"
const busy = "2 seconds"

const parse = (text: string): ReadonlyArray<ProcessState> =>
  Result.getOrElse(
    Result.try(() => [JSON.parse(text)]),
    () => []
  )

/** What others posted; nothing without Redis, or while it is lost. */
export const makeReplicas = (own: () => ProcessState) =>
  Effect.gen(function* () {
    const board = yield* SharedStatusBoard
    const none: ReadonlyArray<ProcessState> = []
    if (board === undefined) return Effect.succeed(none)
    const round = Effect.gen(function* () {
      if (!(yield* board.isWatched)) return idle
      const state = own()
      yield* board.post(state.instance, JSON.stringify(state))
      return busy
    })
    const rounds = Effect.flatMap(
      Effect.orElseSucceed(round, () => idle),
      Effect.sleep
    )
    yield* Effect.forkScoped(Effect.forever(rounds))
    return Effect.andThen(board.markWatched, board.posts).pipe(
      Effect.map((texts) => texts.flatMap(parse)),
      Effect.orElseSucceed(() => none)
    )
  })
