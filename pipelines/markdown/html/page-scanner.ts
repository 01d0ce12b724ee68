import { ELEMENTS } from '../text/names.js'
import { Scanner } from '../scanner/scanner.js'

let scanner: Scanner | undefined

/** Returns the scanner of this thread, which reads a piece of one page at a time. */
export const pageScanner = (): Scanner =>
  (scanner ??= new Scanner(
    ELEMENTS.flatMap((element) =>
      element === undefined ? [] : [{ name: element.name, value: element.content === 'data' ? 0 : 1 }],
    ),
  ))
