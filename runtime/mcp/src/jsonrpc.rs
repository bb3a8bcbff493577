//! JSON-RPC's errors and answers, as lines.

use serde_json::{Value, json};

/// JSON-RPC: the line is not JSON as this proxy reads it.
pub const PARSE_ERROR: i32 = -32700;
/// JSON-RPC: the line is not a request.
pub const INVALID_REQUEST: i32 = -32600;
/// JSON-RPC: the parameters do not fit the method.
pub const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC: something went wrong here or upstream.
pub const INTERNAL_ERROR: i32 = -32603;
/// JSON-RPC: there is no such method.
pub const METHOD_NOT_FOUND: i32 = -32601;

/// A JSON-RPC error. `id` is raw JSON and is echoed as it is.
#[must_use]
pub fn error(id: &[u8], code: i32, message: &str, data: Option<Value>) -> Vec<u8> {
    let mut error = json!({"code": code, "message": message});
    if let (Some(data), Some(error)) = (data, error.as_object_mut()) {
        error.insert("data".to_owned(), data);
    }
    answer(id, "error", &error)
}

/// The answer to a batch: one error for each of `ids`.
#[must_use]
pub fn batch_error(ids: &[&[u8]], message: &str) -> Vec<u8> {
    let mut line = vec![b'['];
    for (index, id) in ids.iter().enumerate() {
        if index > 0 {
            line.push(b',');
        }
        line.extend_from_slice(&error(id, INVALID_REQUEST, message, None));
    }
    line.push(b']');
    line
}

/// An answer: `member` is `result` or `error`. `id` is raw JSON and is echoed as it is.
#[must_use]
pub fn answer(id: &[u8], member: &str, value: &Value) -> Vec<u8> {
    let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    line.extend_from_slice(id);
    line.extend_from_slice(format!(r#","{member}":{value}}}"#).as_bytes());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_answered_id_by_id() {
        let batch: Value = serde_json::from_slice(&batch_error(&[b"1", br#""x""#], "no")).unwrap();
        assert_eq!(batch[0]["id"], 1);
        assert_eq!(batch[1]["id"], "x");
    }
}
