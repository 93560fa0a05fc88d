/**
 * Node's `http`. An `import` of it reads every export, the lazy `WebSocket` too, and that loads Node's own undici: 25 ms and
 * 15 MiB for nothing. `getBuiltinModule` does not.
 */
export const { createServer, ServerResponse, setGlobalProxyFromEnv } = process.getBuiltinModule("node:http")
