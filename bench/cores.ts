/** Which cores processes run on. Linux only, by `taskset` of util-linux. */
import { spawnSync } from "node:child_process"

const taskset = (...args: ReadonlyArray<string>): string => {
  const { error, status, stderr, stdout } = spawnSync("taskset", args, { encoding: "utf8" })
  if (status !== 0) throw new Error(`taskset: ${error?.message ?? stderr.trim()}`)
  return stdout
}

/** The cores that this process may use, as `taskset` writes them: `0-1,4`. Throws where there is no `taskset`. */
export const ownCores = (): string => taskset("-pc", String(process.pid)).replace(/^.*: /s, "").trim()

/** Does something while all threads of these processes share one core, the first that this process may use. */
export const onOneCore = async <A>(pids: ReadonlyArray<number>, work: () => Promise<A>): Promise<A> => {
  const all = ownCores()
  const confine = (cores: string) => pids.forEach((pid) => void taskset("-acp", cores, String(pid)))
  confine(/^\d+/.exec(all)?.[0] ?? "0")
  try {
    return await work()
  } finally {
    confine(all)
  }
}
