//! What is judged of something that is no call of a tool. Knows nothing of policies.

use bouncer_engine::gate::request_arguments;
use bouncer_plan::requests::is_request;
use std::borrow::Cow;

/// What is judged of a call, or of a request that is none, such as `resources/read`: of that,
/// what it is about in every way that it may be read.
pub fn judged<'a>(
    server: Option<&str>,
    tool: &str,
    arguments: &'a [u8],
) -> Result<Cow<'a, [u8]>, String> {
    if !is_request(tool) {
        return Ok(Cow::Borrowed(arguments));
    }
    let read = request_arguments(server, tool, arguments);
    read.map(Cow::Owned).map_err(|why| format!("{tool}: {why}"))
}
