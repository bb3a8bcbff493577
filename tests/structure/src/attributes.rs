//! Which code stands only in test builds. Knows attributes, not files.

use syn::{Attribute, Meta, Token, punctuated::Punctuated};

/// Whether these attributes keep an item out of every build that is not for tests.
pub fn only_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().is_ident("test") {
            return true;
        }
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<Meta>()
                .is_ok_and(|condition| holds_without_tests(&condition) == Some(false))
    })
}

/// The value of a `cfg` condition where `test` is off; `None` if it depends on other things.
fn holds_without_tests(condition: &Meta) -> Option<bool> {
    if condition.path().is_ident("test") {
        return Some(false);
    }
    let Meta::List(list) = condition else {
        return None;
    };
    let parts: Vec<Option<bool>> = list
        .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
        .ok()?
        .iter()
        .map(holds_without_tests)
        .collect();
    if list.path.is_ident("not") {
        return parts.first().copied().flatten().map(|value| !value);
    }
    // `all` is false with its first false part, `any` is true with its first true one.
    let decides = list.path.is_ident("any");
    if parts.contains(&Some(decides)) {
        Some(decides)
    } else if parts.contains(&None) {
        None
    } else {
        Some(!decides)
    }
}

/// The attributes of an item, of whatever kind.
pub fn of_item(item: &syn::Item) -> &[Attribute] {
    use syn::Item;
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::ForeignMod(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::TraitAlias(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// The same of a member of an `impl`.
pub fn of_member(member: &syn::ImplItem) -> &[Attribute] {
    use syn::ImplItem;
    match member {
        ImplItem::Const(it) => &it.attrs,
        ImplItem::Fn(it) => &it.attrs,
        ImplItem::Type(it) => &it.attrs,
        ImplItem::Macro(it) => &it.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_tests_see() {
        for (text, expected) in [
            ("#[test]", true),
            ("#[cfg(test)]", true),
            ("#[cfg(all(test, unix))]", true),
            ("#[cfg(any(test, feature = \"x\"))]", false),
            ("#[cfg(any(test, all(unix, test)))]", true),
            ("#[cfg(not(test))]", false),
            ("#[cfg(not(not(test)))]", true),
            ("#[cfg(unix)]", false),
            ("#[inline]", false),
        ] {
            let item: syn::ItemFn = syn::parse_str(&format!("{text} fn f() {{}}")).unwrap();
            assert_eq!(only_for_tests(&item.attrs), expected, "{text}");
        }
    }
}
