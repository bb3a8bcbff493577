//! What is judged besides calls of tools: requests of the protocol, each under its method's
//! name as if that were a tool. No server can have a tool of such a name, and no pattern of
//! tools matches one: rules name them otherwise (`resource:`, `prompt:`).

/// Reading a resource.
pub const READ: &str = "resources/read";
/// Being told when a resource changes.
pub const SUBSCRIBE: &str = "resources/subscribe";
/// Getting a prompt.
pub const PROMPT: &str = "prompts/get";
/// Having an argument of a prompt, or of a resource's template, completed.
pub const COMPLETE: &str = "completion/complete";
/// A server asks the client's model.
pub const SAMPLE: &str = "sampling/createMessage";
/// A server asks the client's human.
pub const ELICIT: &str = "elicitation/create";

/// All of them.
pub const ALL: [&str; 6] = [READ, SUBSCRIBE, PROMPT, COMPLETE, SAMPLE, ELICIT];

/// Whether that is one of them rather than a tool.
#[must_use]
pub fn is_request(name: &str) -> bool {
    // Names of tools hardly ever have a slash.
    name.contains('/') && ALL.contains(&name)
}
