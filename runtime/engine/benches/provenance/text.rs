//! Text for the measurements: mails, tables and logs of words that are distributed as in
//! natural language, with addresses, numbers and links in between. The same seed gives
//! the same text.

/// A generator of outputs.
pub struct Texts {
    state: u64,
    words: Vec<String>,
}

impl Texts {
    pub fn new(seed: u64) -> Self {
        // All generators share one vocabulary.
        let mut texts = Self {
            state: 42,
            words: Vec::new(),
        };
        for n in 0..6000 {
            let syllables = 1 + texts.below(3) + usize::from(n > 300);
            let mut word = String::new();
            for _ in 0..syllables {
                word.push_str(texts.pick(&[
                    "", "b", "c", "d", "f", "g", "l", "m", "n", "p", "pr", "r", "s", "st", "t",
                    "th", "tr", "w",
                ]));
                word.push_str(texts.pick(&["a", "e", "e", "i", "o", "u", "ou", "ea"]));
                word.push_str(texts.pick(&["", "", "n", "r", "s", "t", "l", "nd", "ng"]));
            }
            texts.words.push(word);
        }
        texts.state = seed;
        texts
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }

    /// A word: the n-th about n times as rare as the first.
    fn word(&mut self) -> usize {
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let most = self.words.len() as f64;
        (most.powf(unit) - 1.0) as usize % self.words.len()
    }

    fn push_word(&mut self, out: &mut String) {
        let word = self.word();
        out.push_str(&self.words[word]);
    }

    fn push_address(&mut self, out: &mut String) {
        self.push_word(out);
        out.push('.');
        self.push_word(out);
        out.push_str(&format!("{}@", self.below(10_000)));
        self.push_word(out);
        out.push_str(self.pick(&[".com", ".example", ".org", ".co.uk"]));
    }

    /// Text of about `bytes` bytes.
    pub fn output(&mut self, bytes: usize) -> String {
        let mut out = String::with_capacity(bytes + 64);
        let mut line = 0;
        while out.len() < bytes {
            match self.below(40) {
                0 => self.push_address(&mut out),
                1 => out.push_str(&format!("{}", self.below(1_000_000))),
                2 if self.below(3) == 0 => {
                    out.push_str("https://");
                    self.push_word(&mut out);
                    out.push_str(".example/");
                    self.push_word(&mut out);
                    out.push_str(&format!("/{:x}", self.next() & 0xff_ffff));
                }
                _ => self.push_word(&mut out),
            }
            out.push_str(self.pick(&[" ", " ", " ", " ", " ", " ", ", ", ". "]));
            if out.len() - line > 70 {
                out.push('\n');
                line = out.len();
            }
        }
        // Half an address is another one.
        let end = out.floor_char_boundary(bytes);
        let end = out[..end].rfind(' ').unwrap_or(end);
        out.truncate(end);
        out
    }

    /// An address of at least `bytes` bytes at a host that no output names.
    pub fn unknown_address(&mut self, bytes: usize) -> String {
        let mut out = String::new();
        self.push_word(&mut out);
        out.push('.');
        self.push_word(&mut out);
        out.push_str("@nowhere");
        while out.len() < bytes - 4 {
            out.push('x');
        }
        out.push_str(".net");
        out
    }

    /// Common words.
    pub fn phrase(&mut self, bytes: usize) -> String {
        let mut out = String::new();
        while out.len() < bytes {
            self.push_word(&mut out);
            out.push(' ');
        }
        out.truncate(bytes);
        out
    }
}

/// The addresses in a text.
pub fn addresses(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|w| w.trim_end_matches(['.', ',']))
        .filter(|w| w.contains('@'))
}
