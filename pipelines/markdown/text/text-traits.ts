/**
 * What a text may have in it that needs work, as bits. The tokenizer finds them in its one pass over a text, so that
 * the rest of the way text of letters and single spaces is handed on without another look.
 */
export const NOTHING = 0
/** White space at the start or the end. */
export const OUTER_SPACE = 1
/** White space inside other than single spaces. */
export const INNER_SPACE = 2
/** Characters that Markdown may take for its own: those of `SPECIAL` in escape.ts. */
export const SPECIALS = 4
/** An `&`, from which a character reference may start. */
export const AMPERSAND = 8
export const NUL = 16
/** Nothing but white space. */
export const BLANK = 32
/** White space that stood before the text, and is not part of it any more. */
export const SPACE_BEFORE = 64
/** The same after it. */
export const SPACE_AFTER = 128
/** Everything but that: what is not known of a text. */
export const ANYTHING = OUTER_SPACE | INNER_SPACE | SPECIALS | AMPERSAND | NUL
