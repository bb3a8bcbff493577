//! What the tests of a call's leaves raised: handed from the tests to the rows.

/// The atoms that one leaf of `path` raised: a run of events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signature {
    pub path: u32,
    pub start: u32,
    pub end: u32,
}

/// All signatures of a call, and the atoms in them.
#[derive(Debug, Default)]
pub(super) struct Raised {
    /// Raised atoms: one run a signature.
    pub events: Vec<u32>,
    pub signatures: Vec<Signature>,
    /// Some path may have several signatures: picks have to be made.
    pub repeated: bool,
}

impl Raised {
    /// Room for what most calls raise under a plan with so many atoms.
    pub fn new(atoms: usize) -> Self {
        Self {
            events: Vec::with_capacity(4096.max(atoms)),
            signatures: Vec::with_capacity(1024),
            repeated: false,
        }
    }

    /// Forgets the last call.
    pub fn clear(&mut self) {
        self.events.clear();
        self.signatures.clear();
        self.repeated = false;
    }
}
