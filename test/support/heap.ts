/** The heap without what nothing refers to. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
export const collect: () => void = runInNewContext("gc")

/** What is in the heap when all that nothing refers to has gone, in bytes. */
export const heap = (): number => {
  collect()
  return process.memoryUsage().heapUsed
}
