/** Names of request fields that the proxy reads or leaves out, and of the fields that frame a body. */
export const READ_NAMES: readonly string[] = [
  'te',
  'via',
  'host',
  'accept',
  'expect',
  'cf-ray',
  'upgrade',
  'trailer',
  'user-agent',
  'connection',
  'keep-alive',
  'max-forwards',
  'http2-settings',
  'content-length',
  'signature-input',
  'x-forwarded-for',
  'proxy-connection',
  'x-forwarded-host',
  'cf-connecting-ip',
  'x-forwarded-proto',
  'transfer-encoding',
  'proxy-authenticate',
  'proxy-authorization',
]

const LETTERS = 32
const MAX_LENGTH = Math.max(...READ_NAMES.map(({ length }) => length))
/** By length and first letter. */
const FIRST = new Uint8Array((MAX_LENGTH + 1) * LETTERS)
for (const name of READ_NAMES) FIRST[name.length * LETTERS + (name.charCodeAt(0) % LETTERS)] = 1

/** Returns false if no name in {@link READ_NAMES} has this length and this first letter, in either case. */
export const mayBeRead = (length: number, letter: number): boolean =>
  length <= MAX_LENGTH && FIRST[length * LETTERS + (letter % LETTERS)] === 1
