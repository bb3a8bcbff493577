//! A call as it is judged.

/// A call to judge. Borrows the bytes that will be forwarded.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The server, where one is known.
    pub(crate) server: Option<&'a str>,
    /// The tool's name.
    pub(crate) tool: &'a str,
    /// Raw JSON of the arguments; `None` where the call has none.
    pub(crate) arguments: Option<&'a [u8]>,
    /// The whole message that is forwarded if the call is permitted.
    pub(crate) message: Option<&'a [u8]>,
}

impl<'a> Call<'a> {
    /// A call that is judged but can never be forwarded: its permit carries no message.
    #[must_use]
    pub const fn hypothetical(
        server: Option<&'a str>,
        tool: &'a str,
        arguments: Option<&'a [u8]>,
    ) -> Self {
        Self { server, tool, arguments, message: None }
    }
}
