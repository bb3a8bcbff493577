//! Tests of the condition language as a whole.
use super::*;
#[test]
fn smoke() {
    parse_expr("args.x == 1").unwrap();
}
