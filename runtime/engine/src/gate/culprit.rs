//! The argument and the value that a decision's reason quotes.

/// The argument and value that decided. Kept by the conversation, so that filling it
/// need not touch the heap.
#[derive(Debug, Default)]
pub(super) struct Culprit {
    pub param: String,
    pub value: String,
}

impl Culprit {
    /// Room for most of what is quoted.
    pub fn with_room() -> Self {
        Self {
            param: String::with_capacity(256),
            value: String::with_capacity(4096),
        }
    }

    /// Forgets what stood here.
    pub fn clear(&mut self) {
        self.param.clear();
        self.value.clear();
    }

    /// Quotes this from now on.
    pub fn set(&mut self, param: &str, value: &str) {
        self.clear();
        self.param.push_str(param);
        self.value.push_str(value);
    }
}

/// The culprits of a call and of the calls within it, of which one decides.
#[derive(Debug, Default)]
pub(super) struct Culprits {
    /// That of the strictest verdict so far.
    pub decided: Culprit,
    /// That of the call that is looked at.
    pub current: Culprit,
    /// That of an opinion that may not count.
    pub spare: Culprit,
}

impl Culprits {
    /// Room for most of what is quoted.
    pub fn with_room() -> Self {
        Self {
            decided: Culprit::with_room(),
            current: Culprit::with_room(),
            spare: Culprit::with_room(),
        }
    }

    /// The opinion that might not have counted does.
    pub const fn take_spare(&mut self) {
        std::mem::swap(&mut self.current, &mut self.spare);
    }

    /// The call that is looked at decides, as far as is known.
    pub const fn decide_current(&mut self) {
        std::mem::swap(&mut self.decided, &mut self.current);
    }
}
