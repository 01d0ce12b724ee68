/** Colours of text on a terminal. Elsewhere, and with NO_COLOR, text stays as it is, so words always say the same. */
export interface Colours {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

const painted =
  (on: number, off: number) =>
  (text: string): string =>
    text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`

const COLOURS: Colours = {
  bold: painted(1, 22),
  dim: painted(2, 22),
  red: painted(31, 39),
  green: painted(32, 39),
  yellow: painted(33, 39),
  cyan: painted(36, 39),
}

const same = (text: string): string => text

export const PLAIN: Colours = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same }

/** Returns the colours for a stream. NO_COLOR counts with any value that is not empty. */
export function coloursFor(
  { isTTY }: { readonly isTTY?: boolean },
  { NO_COLOR: off, TERM: terminal }: NodeJS.ProcessEnv = process.env,
): Colours {
  return isTTY && !off && terminal !== 'dumb' ? COLOURS : PLAIN
}
