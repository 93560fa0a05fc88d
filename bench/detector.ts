/** A guard's detector that finds nothing, as fast as it can. */
import { createServer } from "node:http"

const nothing = JSON.stringify({ action: "NONE" })
const server = createServer((request, response) => {
  request.resume().on("end", () => response.setHeader("content-type", "application/json").end(nothing))
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" ? address?.port : undefined })
})
