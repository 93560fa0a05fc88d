/** How much may wait for the reader of standard error. */

/** Bytes that wait where it is stalled, such as a container's while the disk of its log is full. */
const mostWaiting = 8 * 1024 * 1024

/** Whether a line may be written; where one may not, others may once the reader has taken half of what waits. */
export const makeStderrRoom = () => {
  let full = false
  return (): boolean => {
    full = process.stderr.writableLength > (full ? mostWaiting / 2 : mostWaiting)
    return !full
  }
}
