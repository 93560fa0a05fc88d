/** The build's version, as `/health` and the OpenAPI document show it; a test holds it against package.json. */
export const version = "0.1.0"
export const service = "government-model-gateway"
