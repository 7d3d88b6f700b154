//! The longest entry of a map that a running HAProxy takes. Who prints entries that users may make long and who sends them share it.

/// The bytes of one command that HAProxy's sockets take: a longer one is not carried out. Measured on HAProxy 3.0, 3.2 and 3.4 with a `tune.bufsize`
/// of 16,384 bytes, as the libraries have it, and a `tune.maxrewrite` of 1,024, the default: it is what the master passes on to a worker. A worker's
/// own socket takes 16,381 bytes, with a payload, too.
const LONGEST_COMMAND: usize = 15_358;

/// The longest name of a file in a command.
pub const LONGEST_FILE: usize = 512;

/// The words before the file's name (`@1 add map @VERSION`), and the blanks between all words.
const OTHER_WORDS: usize = 64;

/// The most bytes of key and value together: in a command there may be a backslash before each. What HAProxy shows of an entry, without
/// backslashes and with some more words, fits its buffer, too.
pub const LONGEST: usize = (LONGEST_COMMAND - LONGEST_FILE - OTHER_WORDS) / 2;
