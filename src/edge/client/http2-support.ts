/** The first nghttp2 without CVE-2026-27135, in which the end of a session can end the process. */
const SAFE_VERSION = [1, 68, 1]
/** The versions of Node.js that have it, in words. */
export const HTTP2_VERSIONS = '22.23, 24.17 or newer'

/** The first versions whose streams take the fields of a response as a list. Newer ones do too. */
const LISTS = [
  [22, 20],
  [24, 7],
] as const

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

/** Whether the fields of a response may be a list. Node.js copies an object twice. */
export const takesLists = LISTS.some(([from, minorFrom]) => major === from && minor >= minorFrom) || major > 24

/** Returns whether HTTP/2 is offered. With `auto`, it is offered only if the library of this Node.js has no known crash. */
export function http2IsOn(option: 'auto' | 'on' | 'off', version = process.versions['nghttp2'] ?? ''): boolean {
  return option === 'auto' ? isSafe(version) : option === 'on'
}

/** Compares numbers. As text, 1.9.0 would be newer than 1.68.1. */
function isSafe(version: string): boolean {
  const parts = version.split('.').map(Number)
  for (const [index, wanted] of SAFE_VERSION.entries()) {
    const part = parts[index] ?? 0
    if (part !== wanted) return part > wanted
  }
  return true
}
