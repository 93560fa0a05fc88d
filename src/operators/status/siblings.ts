/** The states of all processes that share a port (`GATEWAY_WORKERS`): each asks the others through the first process. */
import cluster from "node:cluster"
import { Effect, type Scope } from "effect"
import { isObject } from "../../wire/isObject.ts"
import type { ProcessState } from "./processState.ts"

interface Question {
  readonly statusQuestion: number
  /** The asking worker's number in the cluster; the first process adds it. */
  readonly from?: number
}
interface Answer {
  readonly statusAnswer: number
  readonly to: number
  /** How many were asked; the first process adds it. */
  readonly of?: number
  readonly state: ProcessState
}
const isQuestion = (message: unknown): message is Question => isObject(message) && "statusQuestion" in message
const isAnswer = (message: unknown): message is Answer => isObject(message) && "statusAnswer" in message

/** Listens for messages as long as the scope lives. */
const listen = <Arguments extends ReadonlyArray<never>>(
  emitter: Pick<NodeJS.EventEmitter, "on" | "off">,
  listener: (...args: Arguments) => void
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => void emitter.on("message", listener)),
    () => Effect.sync(() => void emitter.off("message", listener))
  )

const others = (id: number) => Object.values(cluster.workers ?? {}).filter((worker) => worker?.id !== id)

/** In the first process: passes questions and answers on. */
export const relayStates = listen(cluster, ({ id }: { readonly id: number }, message: unknown) => {
  if (isQuestion(message)) {
    for (const worker of others(id)) worker?.send({ ...message, from: id })
  } else if (isAnswer(message)) {
    cluster.workers?.[message.to]?.send({ ...message, of: others(message.to).length })
  }
})

/** A process that does not answer in time is left out, in milliseconds. */
const patience = 500

/** In a worker: answers the others, and asks them. A single process has no siblings. */
export const makeSiblings = (own: () => ProcessState) =>
  Effect.gen(function* () {
    if (!cluster.isWorker) return Effect.succeed<ReadonlyArray<ProcessState>>([])
    let last = 0
    const waiting = new Map<number, (answer: Answer) => void>()
    yield* listen(process, (message: unknown) => {
      if (isQuestion(message)) {
        process.send?.({ statusAnswer: message.statusQuestion, to: message.from ?? 0, state: own() } satisfies Answer)
      } else if (isAnswer(message)) waiting.get(message.statusAnswer)?.(message)
    })
    return Effect.suspend(() => {
      const question = ++last
      const states: Array<ProcessState> = []
      return Effect.callback<void>((resume) => {
        waiting.set(question, ({ of = 0, state }) => {
          if (states.push(state) >= of) resume(Effect.void)
        })
        process.send?.({ statusQuestion: question } satisfies Question)
      }).pipe(
        Effect.timeoutOption(patience),
        Effect.ensuring(Effect.sync(() => waiting.delete(question))),
        Effect.as(states)
      )
    })
  })
