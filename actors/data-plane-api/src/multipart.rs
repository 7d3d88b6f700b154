//! The form in which the API's storage takes new files (RFC 7578).

use bytes::Bytes;
use haptic_text::Digest;

/// Content type and body of a form with one file.
pub(crate) fn form(name: &str, content: &str) -> (String, Bytes) {
    // As long as the content does not hold its own digest, this line is not in it.
    let boundary = format!("haptic-{}", Digest::of(content.as_bytes()));
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file_upload\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    let body = [head.as_str(), content, &format!("\r\n--{boundary}--\r\n")].concat();
    (format!("multipart/form-data; boundary={boundary}"), body.into())
}
