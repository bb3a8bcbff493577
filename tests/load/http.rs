//! As much of HTTP/1.1 as both sides need.

use std::io::{Error, ErrorKind, Result};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// A first line, and the headers that matter.
#[derive(Debug, Default)]
pub struct Head {
    pub first: String,
    pub session: Option<String>,
    pub length: usize,
    pub chunked: bool,
    pub events: bool,
    pub close: bool,
}

impl Head {
    /// Of an answer.
    pub fn status(&self) -> u16 {
        let word = self.first.split(' ').nth(1);
        word.and_then(|word| word.parse().ok()).unwrap_or(0)
    }
}

fn broken(why: &str) -> Error {
    Error::new(ErrorKind::InvalidData, why)
}

async fn line<R: AsyncBufRead + Unpin>(reader: &mut R, text: &mut String) -> Result<()> {
    text.clear();
    match reader.read_line(text).await? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Reads the head of a request or of an answer.
pub async fn head<R: AsyncBufRead + Unpin>(reader: &mut R) -> Result<Head> {
    let mut text = String::new();
    line(reader, &mut text).await?;
    let mut head = Head {
        first: text.trim_end().to_owned(),
        ..Head::default()
    };
    loop {
        line(reader, &mut text).await?;
        let Some((name, value)) = text.trim_end().split_once(':') else {
            return Ok(head);
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                head.length = value.parse().map_err(|_| broken("no length"))?;
            }
            "transfer-encoding" => head.chunked = value.eq_ignore_ascii_case("chunked"),
            "content-type" => head.events = value.starts_with("text/event-stream"),
            "mcp-session-id" => head.session = Some(value.to_owned()),
            "connection" => head.close = value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
}

/// Reads the body that belongs to a head.
pub async fn body<R: AsyncBufRead + Unpin>(reader: &mut R, head: &Head) -> Result<Vec<u8>> {
    let mut body = vec![0; head.length];
    if !head.chunked {
        reader.read_exact(&mut body).await?;
        return Ok(body);
    }
    body.clear();
    let mut text = String::new();
    loop {
        line(reader, &mut text).await?;
        let length = usize::from_str_radix(text.trim(), 16).map_err(|_| broken("no chunk"))?;
        let from = body.len();
        body.resize(from + length, 0);
        reader.read_exact(&mut body[from..]).await?;
        line(reader, &mut text).await?;
        if length == 0 {
            return Ok(body);
        }
    }
}
