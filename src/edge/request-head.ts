/** The head of a request as it was sent (RFC 9112, 3 and 5), each character one byte (latin1). */
export interface RequestHead {
  readonly method: string
  readonly target: string
  readonly httpVersion: '1.0' | '1.1'
  /** Name, value, name, value; values without the white space around them. */
  readonly rawHeaders: string[]
}

const TAB = 9
const SPACE = 32

/**
 * Cuts a head out of its text. `marks` are positions in it: where the method begins and ends, where the target ends,
 * then for each field where its name begins, where its name ends and where its value ends.
 */
export function readHead(text: string, marks: readonly number[], httpVersion: '1.0' | '1.1'): RequestHead {
  const methodEnd = marks[1]!
  const rawHeaders: string[] = []
  for (let i = 3; i + 2 < marks.length; i += 3) {
    const nameEnd = marks[i + 1]!
    rawHeaders.push(text.slice(marks[i], nameEnd), value(text, nameEnd + 1, marks[i + 2]!))
  }
  return {
    method: text.slice(marks[0], methodEnd),
    target: text.slice(methodEnd + 1, marks[2]),
    httpVersion,
    rawHeaders,
  }
}

function value(text: string, from: number, to: number): string {
  while (from < to && isSpace(text.charCodeAt(from))) from++
  while (from < to && isSpace(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

const isSpace = (char: number): boolean => char === SPACE || char === TAB
