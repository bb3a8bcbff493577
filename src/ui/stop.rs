//! The user's stop, on the page: what `bouncer halt` and `bouncer resume` do.

use bouncer_proxy::PageResponse;
use bouncer_system::halt::{self, Stops};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;

/// What the page wants.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    halt: bool,
}

/// Why every call is denied; nothing where calls are judged.
pub(super) fn said() -> Value {
    let Some(path) = halt::default_path() else {
        return Value::Null;
    };
    match halt::read(&path) {
        Ok(Stops {
            all: Some(reason), ..
        }) => json!(reason),
        Ok(stops) if stops.servers.is_empty() => Value::Null,
        Ok(stops) => {
            let servers: Vec<&str> = stops.servers.keys().map(String::as_str).collect();
            json!(format!("only of {}", servers.join(", ")))
        }
        Err(error) => json!(format!("whether calls are halted cannot be read: {error}")),
    }
}

/// Stops everything, or ends every stop.
pub(super) fn decide(body: &[u8]) -> PageResponse {
    let Ok(wanted) = serde_json::from_slice::<Wanted>(body) else {
        return PageResponse::error(400, "the body has to be `{\"halt\": true | false}`");
    };
    let Some(path) = halt::default_path() else {
        return PageResponse::error(500, "there is no home directory to say it in");
    };
    let changed = halt::change::<io::Error>(&path, |stops| {
        if !wanted.halt {
            return Ok(Stops::default());
        }
        // What cannot be read stops everything already.
        let mut stops = stops.unwrap_or_default();
        stops.all = Some("stopped on the page".to_owned());
        Ok(stops)
    });
    match changed {
        Ok(_) => PageResponse::json(200, &json!({ "halted": said() })),
        Err(error) => PageResponse::error(500, &format!("it cannot be written: {error}")),
    }
}
