import { NameFinder } from '../../http/name-finder.js'

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

/** Finds {@link READ_NAMES} in the text of a head. */
export const READ = new NameFinder(READ_NAMES)
