/** The states of replicas that share a Redis: each leaves its own there while somebody looks at a page, and only then. */
import { Effect } from "effect"
import { SharedBoard } from "../access/Board.ts"
import type { ProcessState } from "./processState.ts"

/** How often a process looks whether somebody does, and how often it then tells its state. */
const idle = "4 seconds"
const busy = "2 seconds"

const read = (text: string): ReadonlyArray<ProcessState> => {
  try {
    return [JSON.parse(text)]
  } catch {
    return []
  }
}

/** What others left; nothing without Redis, or while it is lost. */
export const makeReplicas = (own: () => ProcessState) =>
  Effect.gen(function* () {
    const board = yield* SharedBoard
    if (board === undefined) return Effect.succeed<ReadonlyArray<ProcessState>>([])
    const round = Effect.flatMap(board.watched, (watched) => {
      if (!watched) return Effect.sleep(idle)
      const state = own()
      return Effect.andThen(board.leave(state.instance, JSON.stringify(state)), Effect.sleep(busy))
    }).pipe(Effect.catch(() => Effect.sleep(idle)))
    yield* Effect.forkScoped(Effect.forever(round))
    return Effect.andThen(board.watch, board.notes).pipe(
      Effect.map((texts) => texts.flatMap(read)),
      Effect.orElseSucceed((): ReadonlyArray<ProcessState> => [])
    )
  })
