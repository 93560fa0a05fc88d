/** Loaded before main.ts by the npm scripts, in plain JavaScript: without `npm ci` there is no Node that runs TypeScript. */
const installed = () => {
  try {
    return import.meta.resolve("effect") !== ""
  } catch {
    return false
  }
}

if (!process.features.typescript || !installed()) {
  console.error(
    `gateway: run npm ci first; it also brings the Node that the gateway runs on (this one is ${process.version})`
  )
  process.exit(1)
}
