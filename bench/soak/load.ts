/** The load generator of the soak, a process of its own: does the job it is sent and answers what came of it. */
import { type RequestsJob, sendRequests } from "./requests.ts"
import { readSlowly, type SlowJob } from "./slowReaders.ts"
import { readStreams, type StreamsJob } from "./streams.ts"

const perform = (job: StreamsJob | SlowJob | RequestsJob) =>
  job.kind === "streams" ? readStreams(job) : job.kind === "slow" ? readSlowly(job) : sendRequests(job)

process.on("disconnect", () => process.exit(0))
process.on("message", (job: StreamsJob | SlowJob | RequestsJob) =>
  perform(job).then((result) => process.send?.(result))
)
process.send?.({ ready: true })
