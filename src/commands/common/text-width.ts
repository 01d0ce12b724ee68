/** Characters that fill two columns of a terminal: East Asian scripts and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
/** Characters that fill no column. */
const NARROW = /[\p{Mn}\p{Me}\p{Cf}]/u
// oxlint-disable-next-line no-control-regex
const COLOUR = /\u001b\[\d+m/g

const widthOfChar = (char: string): number => (NARROW.test(char) ? 0 : WIDE.test(char) ? 2 : 1)

/** Returns the number of columns of a text. Colours fill none. */
export function widthOf(text: string): number {
  let width = 0
  for (const char of text.replaceAll(COLOUR, '')) width += widthOfChar(char)
  return width
}

/** Returns a text of at most `width` columns, with an ellipsis if it was longer. The text has no colours. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let short = ''
  let used = 0
  for (const char of text) {
    const next = used + widthOfChar(char)
    if (next > width - 1) break
    short += char
    used = next
  }
  return width < 1 ? '' : `${short}…`
}

/** Replaces control characters. Names of zones and texts of errors must not move the cursor. */
export const printable = (text: string): string => text.replaceAll(/\p{Cc}/gu, '?')
