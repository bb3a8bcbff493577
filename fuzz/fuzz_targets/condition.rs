//! Any text is a condition or has errors inside it; what parses prints and reads
//! back as the same.

#![no_main]
use bouncer_compiler::condition::{Context, parse, parse_expr};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let context = Context {
        lists: &|name| (name == "a").then(Vec::new),
        list_names: vec!["a".to_owned()],
        position: &|_| Default::default(),
    };
    let resolved = parse(text, &context);
    if let Err(errors) = &resolved {
        assert!(!errors.is_empty());
        for error in errors {
            assert!(text.get(error.start..error.end).is_some());
        }
    }
    if let Ok(expr) = parse_expr(text) {
        let printed = expr.to_string();
        let Ok(again) = parse_expr(&printed) else {
            // Escapes may make the printed text longer than what is read.
            assert!(printed.len() > bouncer_compiler::condition::MAX_TEXT);
            return;
        };
        assert_eq!(again.to_string(), printed);
        if resolved.is_ok() {
            assert_eq!(parse(&printed, &context), resolved);
        }
    }
});
