//! Every rejection, by example; `tests/json_oracle.rs` compares with serde_json.

use super::MalformedKind as Kind;
use super::*;

const LIMITS: Limits = Limits {
    max_bytes: 200,
    max_depth: 4,
};

/// Reads `bytes` to the end and writes the events down.
fn read(bytes: &[u8]) -> Result<String, Malformed> {
    let mut scratch = Scratch::new(&LIMITS);
    let mut reader = Reader::new(bytes, &LIMITS, &mut scratch)?;
    let mut out = String::new();
    loop {
        match reader.next() {
            Ok(Some(event)) => match event {
                Event::ObjectStart => out.push('{'),
                Event::ObjectEnd => out.push('}'),
                Event::ArrayStart => out.push('['),
                Event::ArrayEnd => out.push(']'),
                Event::Key(key) => out.push_str(&format!("{}:", key.to_cow())),
                Event::String(text) => out.push_str(&format!("'{}' ", text.to_cow())),
                Event::Number(text) => out.push_str(&format!("{text} ")),
                Event::Bool(value) => out.push_str(&format!("{value} ")),
                Event::Null => out.push_str("null "),
            },
            Ok(None) => {
                assert!(reader.next().unwrap().is_none());
                assert_eq!(reader.offset(), bytes.len());
                return Ok(out);
            }
            Err(malformed) => {
                assert_eq!(reader.next().unwrap_err(), malformed, "errors stay");
                assert_eq!(reader.skip_value().unwrap_err(), malformed);
                return Err(malformed);
            }
        }
    }
}

#[test]
fn accepts_every_kind_of_value() {
    let text = " {\"a\" : [1, -0.5e+3,true ,false,null,\"x\\n\u{e9}\"],\t\"b\":{}, \"c\":[ ]\r\n} ";
    assert_eq!(
        read(text.as_bytes()).unwrap(),
        "{a:[1 -0.5e+3 true false null 'x\n\u{e9}' ]b:{}c:[]}"
    );
    for text in [
        "0",
        "-0",
        "1e400",
        "\"\"",
        "null",
        "[[[[]]]]",
        "\"\u{7f}\"",
        "\"\\u0000\"",
    ] {
        assert!(read(text.as_bytes()).is_ok(), "{text}");
    }
}

#[test]
fn rejects_with_kind_and_place() {
    let cases: &[(&[u8], Kind, usize)] = &[
        (b"", Kind::UnexpectedEnd, 0),
        (b"  ", Kind::UnexpectedEnd, 2),
        (b"\xEF\xBB\xBF{}", Kind::ByteOrderMark, 0),
        (b" \xEF\xBB\xBF{}", Kind::UnexpectedByte, 1),
        (b"\"\xFF\"", Kind::InvalidUtf8, 1),
        (b"\"\xC0\x80\"", Kind::InvalidUtf8, 1),
        (b"\"a\xED\xA0\x80\"", Kind::InvalidUtf8, 2),
        (b"{\"a\":1,\"a\":2}", Kind::DuplicateKey, 7),
        (b"{\"a\":1,\"\\u0061\":2}", Kind::DuplicateKey, 7),
        (b"{\"\\u0061\":1,\"a\":2}", Kind::DuplicateKey, 12),
        (b"{\"\":1,\"\":2}", Kind::DuplicateKey, 6),
        (b"[{\"x\":{\"/\":1,\"\\/\":2}}]", Kind::DuplicateKey, 13),
        (b"{\"a\":{\"b\":1},\"a\":2}", Kind::DuplicateKey, 13),
        (b"\"\\ud800\"", Kind::LoneSurrogate, 1),
        (b"\"\\udc00\"", Kind::LoneSurrogate, 1),
        (b"\"\\ud800\\ud800\"", Kind::LoneSurrogate, 1),
        (b"\"\\ud800\\n\"", Kind::LoneSurrogate, 1),
        (b"\"\\udc00\\ud800\"", Kind::LoneSurrogate, 1),
        (b"{\"\\uDFFF\":1}", Kind::LoneSurrogate, 2),
        (b"\"a\tb\"", Kind::ControlCharacter, 2),
        (b"\"a\0\"", Kind::ControlCharacter, 2),
        (
            b"\"0123456789012345678901234567890123456789\x1f\"",
            Kind::ControlCharacter,
            41,
        ),
        (b"{\"a\nb\":1}", Kind::ControlCharacter, 3),
        (b"\"\\x\"", Kind::BadEscape, 1),
        (b"\"\\u12g4\"", Kind::BadEscape, 1),
        (b"\"\\u+123\"", Kind::BadEscape, 1),
        (b"\"\\u12", Kind::BadEscape, 1),
        (b"\"\\", Kind::UnexpectedEnd, 2),
        (b"\"abc", Kind::UnexpectedEnd, 4),
        (b"01", Kind::BadNumber, 1),
        (b"-01", Kind::BadNumber, 2),
        (b"-", Kind::BadNumber, 1),
        (b"+1", Kind::BadNumber, 0),
        (b".5", Kind::BadNumber, 0),
        (b"1.", Kind::BadNumber, 2),
        (b"1.e3", Kind::BadNumber, 2),
        (b"1e", Kind::BadNumber, 2),
        (b"1e+", Kind::BadNumber, 3),
        (b"-x", Kind::BadNumber, 1),
        (b"0x10", Kind::TrailingBytes, 1),
        (b"[1_000]", Kind::UnexpectedByte, 2),
        (b"NaN", Kind::UnexpectedByte, 0),
        (b"Infinity", Kind::UnexpectedByte, 0),
        (b"-Infinity", Kind::BadNumber, 1),
        (b"True", Kind::UnexpectedByte, 0),
        (b"tru", Kind::UnexpectedEnd, 3),
        (b"nulL", Kind::UnexpectedByte, 3),
        (b"{} x", Kind::TrailingBytes, 3),
        (b"{}{}", Kind::TrailingBytes, 2),
        (b"{}\0", Kind::TrailingBytes, 2),
        (b"1 2", Kind::TrailingBytes, 2),
        (b"[[[[[]]]]]", Kind::TooDeep, 4),
        (b"{\"a\":[{\"a\":[{}]}]}", Kind::TooDeep, 12),
        (b"[1,]", Kind::UnexpectedByte, 3),
        (b"[,1]", Kind::UnexpectedByte, 1),
        (b"[1 2]", Kind::UnexpectedByte, 3),
        (b"[1}", Kind::UnexpectedByte, 2),
        (b"{\"a\":1]", Kind::UnexpectedByte, 6),
        (b"{\"a\":1,}", Kind::UnexpectedByte, 7),
        (b"{\"a\" 1}", Kind::UnexpectedByte, 5),
        (b"{\"a\":}", Kind::UnexpectedByte, 5),
        (b"{a:1}", Kind::UnexpectedByte, 1),
        (b"{'a':1}", Kind::UnexpectedByte, 1),
        (b"{1:1}", Kind::UnexpectedByte, 1),
        (b"{,}", Kind::UnexpectedByte, 1),
        (b"{", Kind::UnexpectedEnd, 1),
        (b"[1", Kind::UnexpectedEnd, 2),
        (b"{\"a\"", Kind::UnexpectedEnd, 4),
        (b"]", Kind::UnexpectedByte, 0),
        (b"// c\n1", Kind::UnexpectedByte, 0),
        (b"\x0b1", Kind::UnexpectedByte, 0),
        ("\u{a0}1".as_bytes(), Kind::UnexpectedByte, 0),
    ];
    for &(bytes, kind, offset) in cases {
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(read(bytes), Err(Malformed { kind, offset }), "{text}");
    }
}

#[test]
fn rejects_input_past_the_size_limit() {
    let exact = format!("\"{}\"", "a".repeat(198));
    assert!(read(exact.as_bytes()).is_ok());
    let longer = format!("{exact} ");
    assert_eq!(read(longer.as_bytes()), Err(Kind::TooLong.at(200)));
}

#[test]
fn large_objects_are_checked_too() {
    let limits = Limits::default();
    let mut scratch = Scratch::new(&limits);
    let object = |keys: &[String]| {
        let members: Vec<String> = keys.iter().map(|k| format!("\"{k}\":1")).collect();
        format!("{{{}}}", members.join(","))
    };
    for count in [15, 16, 17, 18, 40, 1000] {
        let mut keys: Vec<String> = (0..count).map(|n| format!("k{n}")).collect();
        let text = object(&keys);
        assert_eq!(
            validate_object(text.as_bytes(), &limits, &mut scratch),
            Ok(())
        );
        for twin in [0, count / 2, count - 1] {
            keys.push(format!("\\u006b{twin}"));
            let text = object(&keys);
            let offset = text.rfind("\"\\u006b").unwrap();
            assert_eq!(
                validate_object(text.as_bytes(), &limits, &mut scratch),
                Err(Kind::DuplicateKey.at(offset)),
                "{count} {twin}"
            );
            keys.pop();
        }
    }
}

#[test]
fn an_inner_object_may_repeat_an_outer_key() {
    let text = br#"{"a":{"a":{"a":1},"b":2},"b":[{"a":1},{"a":2}]}"#;
    assert!(read(text).is_ok());
}

#[test]
fn validate_object_wants_an_object() {
    let mut scratch = Scratch::new(&LIMITS);
    let mut check = |text: &str| validate_object(text.as_bytes(), &LIMITS, &mut scratch);
    assert_eq!(check(" {\"a\":[1]} "), Ok(()));
    for text in ["[]", "1", "\"x\"", "null", "true"] {
        assert_eq!(check(text), Err(Kind::NotAnObject.at(0)), "{text}");
    }
    assert_eq!(check("{}1"), Err(Kind::TrailingBytes.at(2)));
}

#[test]
fn values_can_be_skipped_where_one_is_due() {
    let text = br#"{"a": [1, {"b":2} ] ,"c":[], "d":3}"#;
    let mut scratch = Scratch::new(&LIMITS);
    let mut reader = Reader::new(text, &LIMITS, &mut scratch).unwrap();
    reader.open_object().unwrap();
    assert_eq!(reader.skip_value(), Ok(None), "a key is next");
    reader.next().unwrap();
    assert!(matches!(reader.next(), Ok(Some(Event::ArrayStart))));
    assert_eq!(reader.skip_value(), Ok(Some("1")));
    assert_eq!(reader.skip_value(), Ok(Some(r#"{"b":2}"#)));
    assert_eq!(reader.skip_value(), Ok(None), "the array ends");
    assert!(matches!(reader.next(), Ok(Some(Event::ArrayEnd))));
    reader.next().unwrap();
    assert_eq!(reader.skip_value(), Ok(Some("[]")));
    assert_eq!(reader.depth(), 1);
    reader.skip_rest().unwrap();
    assert_eq!(reader.skip_value(), Ok(None), "nothing is left");
    assert!(reader.next().unwrap().is_none());
}

#[test]
fn skipped_values_are_validated() {
    let text = br#"[{"b":1,"b":2}]"#;
    let mut scratch = Scratch::new(&LIMITS);
    let mut reader = Reader::new(text, &LIMITS, &mut scratch).unwrap();
    assert_eq!(reader.skip_value(), Err(Kind::DuplicateKey.at(8)));
}

#[test]
fn messages_name_the_place() {
    assert_eq!(
        Kind::DuplicateKey.at(41).to_string(),
        "duplicate key at byte 41"
    );
    assert_eq!(Kind::DuplicateKey.code(), "duplicate_key");
}
