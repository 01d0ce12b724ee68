// Characters that move the cursor, change colours or the direction of text, or hide text.
// eslint-disable-next-line no-control-regex
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** Returns a text for a terminal, with control characters other than tabs and line feeds shown as `\u` escapes. */
export const printable = (text: string): string =>
  text.replaceAll(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
/** Returns the entry of `egress.allow_cidrs` for one address and port. */
export const allowEntry = (address: string, port: number): string =>
  `${address.includes(':') ? `[${address}/128]` : `${address}/32`}:${port}`
