// What the scanner and its caller agree on: where things are in its memory, and what a token consists of. Both compile
// this file, so it has constants only.

/** Where the text that is read begins; before it are tables of a fixed size. */
export const INPUT = 0x40000

/** Bytes that may be read beyond the end of the text. */
export const MARGIN = 64

/** The tokens of one call, of `TOKEN_SIZE` numbers each. */
export const TOKENS = 0x20000
export const MAX_TOKENS = 1024
export const TOKEN_SIZE = 8

/** The attributes of their tags, of `ATTRIBUTE_SIZE` numbers each. A tag's further ones are not read. */
export const ATTRIBUTES = 0x28000
export const MAX_ATTRIBUTES = 4096
export const ATTRIBUTE_SIZE = 5

/** The first number of a token. */
export const TEXT = 0
export const START_TAG = 1
export const END_TAG = 2

/** The other numbers of a text: its start and end, with the white space around it and without, and its traits. */
export const TEXT_START = 1
export const TEXT_END = 2
export const TEXT_FROM = 3
export const TEXT_TO = 4
export const TEXT_TRAITS = 5

/** The other numbers of a tag: the id and the position of its name, its attributes' rows in the table, and what they are. */
export const TAG_ID = 1
export const TAG_NAME = 2
export const TAG_NAME_END = 3
export const TAG_ATTRIBUTES = 4
export const TAG_ATTRIBUTES_END = 5
export const TAG_BITS = 6
export const TAG_SELF_CLOSING = 7

/** The numbers of an attribute: where its name and its value start and end, and what the value has. */
export const ATTRIBUTE_NAME = 0
export const ATTRIBUTE_NAME_END = 1
export const ATTRIBUTE_VALUE = 2
export const ATTRIBUTE_VALUE_END = 3
export const ATTRIBUTE_TRAITS = 4

/** Where the scanner says why it has stopped, at which position, and where an unfinished `<` or `</` is. */
export const STOP = 0x1000
/** The tokens are to be read before it goes on, from this position. */
export const STOP_MORE = 0
/** From this position on there is text up to the end, or up to a `<` or `</` at the very end. */
export const STOP_END = 1
/** The tag at this position is not finished. */
export const STOP_TAG = 2
/** At this position is markup other than a tag. */
export const STOP_DECLARATION = 3

/** What an attribute's value has: `&`, something to escape in an address, NUL, `\r`, bytes of UTF-8, parentheses, something to escape in a title. */
export const VALUE_DECODE = 1
export const VALUE_ESCAPE = 2
export const VALUE_NUL = 4
export const VALUE_RETURN = 8
export const VALUE_FOREIGN = 16
export const VALUE_PARENTHESIS = 32
export const VALUE_TITLE = 64

/** Traits of a text that only the tokenizer knows: it has characters from U+0080 on, or `\r`. */
export const FOREIGN = 1
export const RETURNS = 256
