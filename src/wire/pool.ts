/**
 * Bytes above this many get memory of their own: in Node's pool, what waits for a slow reader would keep the 64 KiB that it is a
 * part of.
 */
export const pooled = 4 * 1024
